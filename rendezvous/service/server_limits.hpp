// ServerLimits: what peers may ask of a coordinator before they belong to a job, and what jobs may
// keep of it when no node of theirs is there.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace ddprun {

struct ServerLimits {
  /// From the connection to a valid `join`, in all; a client of the store has as long for its first
  /// byte.
  std::chrono::milliseconds join_timeout{10'000};
  std::size_t join_bytes_max = 4096;  // for the line in which a peer asks to join
  std::size_t newcomers_max = 1024;   // have not joined; beyond it, the oldest is closed

  // `ddprun server` only.
  /// A job without nodes goes after that, however long it would wait for some. It is seen to be
  /// empty a few seconds late. One of which no round has begun goes with its last node.
  std::chrono::milliseconds empty_job_kept{120'000};
  std::size_t jobs_max = 10'000;                        // beyond it, new ones are refused
  std::size_t jobs_per_address_max = 1'000;             // that were begun by nodes of one address
  std::size_t stores_bytes_max = std::size_t{2} << 30;  // that the stores of all jobs hold together
};

/// The limits of a server that may open `files` files. A newcomer takes one, a job with its store
/// and a node two: however many come from one address, there is room for others.
inline ServerLimits limits_for(std::size_t files) {
  ServerLimits limits;
  limits.newcomers_max = std::min(limits.newcomers_max, files / 4);
  limits.jobs_per_address_max = std::min(limits.jobs_per_address_max, files / 8);
  return limits;
}

}  // namespace ddprun
