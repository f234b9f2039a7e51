// HeartbeatBoard: the memory in which this node's workers tell how far they are; see
// worker_sdk/contract/heartbeat_slot.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"

namespace ddprun {

class HeartbeatBoard {
 public:
  /// Makes a board of empty slots, one for each of a round's workers. Errors: kUnavailable, when
  /// the system has no memory for it.
  static Result<HeartbeatBoard> create(int workers);

  /// The next heartbeat of each worker is its first one of a round. On a fresh board it is.
  void begin_round();

  /// The path by which this machine's processes of the same user reach it while this process lives.
  std::string path() const;

  /// The last heartbeat of a worker; nullopt when there was none, or when there is no such worker.
  std::optional<sdk::HeartbeatReading> read(int local_rank) const;

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(sdk::HeartbeatSlot* slots) const;
  };
  using Slots = std::unique_ptr<sdk::HeartbeatSlot[], Unmap>;
  HeartbeatBoard(Descriptor file, Slots slots, int workers)
      : file_{std::move(file)}, slots_{std::move(slots)}, workers_{workers} {}

  Descriptor file_;
  Slots slots_;
  int workers_;
};

/// "step 120, loss 0.31, 1,234 samples/s, 0.4 s before": what a heartbeat told, and how long before
/// `now_ns` of CLOCK_MONOTONIC. Pure.
std::string describe(const sdk::HeartbeatReading& reading, std::int64_t now_ns);

}  // namespace ddprun
