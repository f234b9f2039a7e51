#include "worker_sdk/group/waits.hpp"

#include <atomic>

namespace ddprun::sdk {

namespace {

std::atomic<std::uint64_t> waits_begun = 0;
std::atomic<std::uint64_t> waits_ended = 0;

}  // namespace

/// Read in this order, no wait seems to have ended that has not begun.
Waits waits_for_ranks() {
  const std::uint64_t ended = waits_ended;
  return {waits_begun, ended};
}

Wait::Wait() { ++waits_begun; }
Wait::~Wait() { ++waits_ended; }

}  // namespace ddprun::sdk
