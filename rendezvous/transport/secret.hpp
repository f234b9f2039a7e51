// Secret: what only the nodes of a job know. A process that knows it can join the job, so it is
// never printed, logged, or put on a command line. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

/// The variable that has a job's secret where no file does. ddprun takes it out of its environment
/// when it starts, so that no worker has it.
inline constexpr char kSecretVariable[] = "DDPRUN_SECRET";

inline constexpr std::size_t kSecretBytes = 32;

/// 256 bits that nobody can guess. They are overwritten where a Secret ends.
class Secret {
 public:
  using Bytes = std::array<unsigned char, kSecretBytes>;

  explicit Secret(const Bytes& bytes) : bytes_{bytes} {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  const Bytes& bytes() const { return bytes_; }
  bool operator==(const Secret&) const = default;

 private:
  Bytes bytes_;
};

/// Reads a secret: 64 hexadecimal digits, or base64 (RFC 4648) of 32 bytes, with white space around
/// it. Errors: kInvalid, with what was expected; the text is not in it.
Result<Secret> parse_secret(std::string_view text);

/// Returns the secret as 64 hexadecimal digits.
std::string to_text(const Secret& secret);

}  // namespace ddprun
