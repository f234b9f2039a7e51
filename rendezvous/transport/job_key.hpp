// JobKey: what a job's secret comes to on the wire.
//
// The secret itself is the key of nothing. A pre-shared key and its public name are derived from it
// and from the run id by HKDF with SHA-256 (RFC 5869), so that jobs with the same secret have
// different keys. A listener sees the name alone: he learns neither the run id from it, nor whether
// a guess of it is right. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/transport/secret.hpp"

namespace ddprun {

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
