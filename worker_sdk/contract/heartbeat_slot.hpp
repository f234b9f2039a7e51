// HeartbeatSlot: a piece of memory that a worker and its agent share, in which the worker says how
// far it is. No LibTorch.
//
// The agent keeps a file in memory (memfd_create(2)) with a slot for each of its workers and hands
// every worker its name in DDPRUN_HEARTBEAT: "/proc/AGENT/fd/FD:SLOT". What a worker has said last
// stays there when it is killed.
//
// The module ddprun for Python writes the same memory: worker_sdk/python/ddprun/_heartbeat.py has
// the places of HeartbeatSlot's numbers, and a test lets the agent read what it has written.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace ddprun::sdk {

/// What one heartbeat tells.
struct HeartbeatReading {
  std::int64_t step = 0;           // that is done
  double loss = 0;                 // NaN when the worker has not told it
  double samples_per_second = 0;   // this worker's
  std::int64_t time_ns = 0;        // when it was reported, on CLOCK_MONOTONIC
  std::int64_t steps = 0;          // the whole training's; 0: the worker has not told
  std::int64_t first_step = -1;    // the first one of the round; -1: not known
  std::int64_t first_time_ns = 0;  // when that one was reported
  bool operator==(const HeartbeatReading&) const = default;
};

/// Has one writer and any number of readers, none of whom ever waits. Two entries take turns, so a
/// writer that dies while it writes leaves the reading before. A reader that was overtaken copies
/// again, as with a seqlock (https://www.hpl.hp.com/techreports/2012/HPL-2012-68.pdf).
///
/// A reader that looks once a second does not see the first heartbeat of a round. So the agent
/// counts rounds in the slot, and the worker keeps its first heartbeat since the last count. Where
/// one of them is of a release that does not do so, the first heartbeat is not known.
class alignas(128) HeartbeatSlot {
 public:
  /// Makes `reading` the one that readers see. Where it has no `steps`, those of before stay.
  void write(const HeartbeatReading& reading);

  /// The next heartbeat is the first one of a round. Called by the agent alone.
  void begin_round();

  /// Returns the last reading; nullopt when nothing was written yet, or when the writer overtakes
  /// every attempt to copy.
  std::optional<HeartbeatReading> read() const;

 private:
  struct Entry {
    std::atomic<std::int64_t> step;
    std::atomic<double> loss;
    std::atomic<double> samples_per_second;
    std::atomic<std::int64_t> time_ns;
  };
  std::atomic<std::uint64_t> count_;  // how many were written; the last is in entries_[count_ % 2]
  std::array<Entry, 2> entries_;
  std::atomic<std::int64_t> steps_;
  std::atomic<std::int64_t> round_;        // the agent's count
  std::atomic<std::int64_t> first_round_;  // to which the next two belong
  std::atomic<std::int64_t> first_step_;
  std::atomic<std::int64_t> first_time_ns_;

  void keep_first(const HeartbeatReading& reading);
  void add_first(HeartbeatReading& reading) const;
};
static_assert(sizeof(HeartbeatSlot) == 128, "workers of other releases count on that");

/// Where a worker's slot is: the value of DDPRUN_HEARTBEAT.
struct HeartbeatAddress {
  std::string path;      // the file in memory
  std::size_t slot = 0;  // the number of the slot in it
};

/// Returns "PATH:SLOT".
std::string to_string(const HeartbeatAddress& address);

/// Reads "PATH:SLOT"; nullopt for any other text.
std::optional<HeartbeatAddress> parse_heartbeat_address(const std::string& text);

/// Returns the nanoseconds of CLOCK_MONOTONIC, which is the same for all processes of a machine.
std::int64_t monotonic_ns();

}  // namespace ddprun::sdk
