// Descriptor: an open file of this process, which is closed with it.
#pragma once

#include <unistd.h>

#include <utility>

namespace ddprun {

class Descriptor {
 public:
  /// Takes over the file of that number; -1: there is none.
  explicit Descriptor(int number = -1) : number_{number} {}
  Descriptor(Descriptor&& other) noexcept : number_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  /// Hands out the number, which the caller has to close from now on.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace ddprun
