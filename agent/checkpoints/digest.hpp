// Digest: XXH3-128 (https://xxhash.com) of the bytes that it is given, one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ddprun {

class Digest {
 public:
  Digest();
  ~Digest();

  void add(const char* bytes, std::size_t size);
  /// In hexadecimal digits, as KeptFile has it.
  std::string text() const;

 private:
  struct State;  // xxHash's, whose header stays in digest.cpp
  std::unique_ptr<State> state_;
};

}  // namespace ddprun
