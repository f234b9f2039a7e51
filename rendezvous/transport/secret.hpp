// Secret: what only the nodes of a job know; JobKey: what it comes to on the wire. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

// Secret: what only the nodes of a job know. A process that knows it can join the job, so it is
// never printed, logged, or put on a command line.

/// The variable that has a job's secret where no file does. ddprun takes it out of its environment
/// when it starts, so that no worker has it.
inline constexpr char kSecretVariable[] = "DDPRUN_SECRET";

inline constexpr std::size_t kSecretBytes = 32;

/// 256 bits that cannot be guessed. They are overwritten where a Secret ends.
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

// JobKey: what a job's secret comes to on the wire.
//
// The secret itself is the key of nothing. A pre-shared key and its public name are derived from it
// and from the run id by HKDF with SHA-256 (RFC 5869), so that jobs with the same secret have
// different keys. A listener sees the name alone: he learns neither the run id from it, nor whether
// a guess of it is right.

/// The pre-shared key of one job.
struct JobKey {
  std::string run_id;
  std::string identity;  // the key's name, which is public: 64 hexadecimal digits
  Secret key;
};

/// Derives the key of the job `run_id`. Throws std::runtime_error when OpenSSL cannot, for which
/// there is no reason but memory.
JobKey job_key(const Secret& secret, const std::string& run_id);

/// Finds the key of that name; nullopt: there is none.
using FindJobKey = std::function<std::optional<JobKey>(std::string_view identity)>;

/// Prepares OpenSSL, once, without the configuration files of this machine: these may name modules
/// that are not made for the version that is linked here. To be called before any other use of it
/// that is more than a single algorithm. It takes 1 ms and memory, so not before there is a secret.
void begin_openssl();

}  // namespace ddprun
