// HeartbeatSlot: a piece of memory that a worker and its agent share, in which the worker says how
// far it is. No LibTorch.
//
// The agent keeps a file in memory (memfd_create(2)) with a slot for each of its workers and hands
// every worker the name of it, in DDPRUN_HEARTBEAT: "/proc/AGENT/fd/FD:SLOT". What a worker has
// said last stays there when it is killed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace ddprun::sdk {

/// What one heartbeat tells.
struct HeartbeatReading {
  std::int64_t step = 0;
  double loss = 0;  // NaN: not told
  double samples_per_second = 0;
  std::int64_t time_ns = 0;  // of CLOCK_MONOTONIC
  bool operator==(const HeartbeatReading&) const = default;
};

/// One writer, any number of readers, nobody waits. Two readings take turns, so that a writer that
/// dies while it writes leaves the one before; a reader takes its copy again when it was overtaken,
/// as with a seqlock (https://www.hpl.hp.com/techreports/2012/HPL-2012-68.pdf).
class alignas(128) HeartbeatSlot {
 public:
  void write(const HeartbeatReading& reading);

  /// nullopt when nothing was written yet, or the writer is faster than the reader.
  std::optional<HeartbeatReading> read() const;

 private:
  struct Entry {
    std::atomic<std::int64_t> step;
    std::atomic<double> loss;
    std::atomic<double> samples_per_second;
    std::atomic<std::int64_t> time_ns;
  };
  std::atomic<std::uint64_t> count_;  // of readings; the last one is in entries_[count_ % 2]
  std::array<Entry, 2> entries_;
};

/// The value of DDPRUN_HEARTBEAT.
struct HeartbeatAddress {
  std::string path;
  std::size_t slot = 0;
};
std::string to_string(const HeartbeatAddress& address);
std::optional<HeartbeatAddress> parse_heartbeat_address(const std::string& text);

/// CLOCK_MONOTONIC, the same for all processes of a machine.
std::int64_t monotonic_ns();

}  // namespace ddprun::sdk
