// Keys of jobs whose secrets are known.
#pragma once

#include <string>

#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// The key of a job whose secret has this byte all over.
inline JobKey key_of(unsigned char byte, const std::string& run_id = "job") {
  Secret::Bytes bytes{};
  bytes.fill(byte);
  return job_key(Secret{bytes}, run_id);
}

}  // namespace ddprun
