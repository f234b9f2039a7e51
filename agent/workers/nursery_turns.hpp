// NurseryTurns: which of several starts of workers has the fork server for itself, which of the
// server's answers are for that start, and what becomes of the processes that it has forked. Pure.
//
// An answer may come late, twice, or when nobody wants the start any more. Nothing of one start is
// ever taken for another's, or two rounds would train at once.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "agent/workers/nursery_protocol.hpp"

namespace ddprun {

/// What becomes of what the fork server has forked for a start.
enum class ForkedFate {
  kTaken,        // they are the workers
  kKilled,       // nobody wants them any more
  kStartedAnew,  // killed, too: some were not delivered, so all start the ordinary way
};

class NurseryTurns {
 public:
  /// Gives a start the turn. False: another one has it until it gives it back.
  bool take();
  void give_back() { taken_ = false; }

  /// Begins to fork that many workers for the start that has the turn. Returns its number.
  std::size_t begin(std::size_t workers);

  void hear(const Forked& answer);
  void hear(const Delivered& answer);

  /// Whether all of its workers are there.
  bool is_delivered() const { return delivered_; }
  /// Its workers by number; -1: not yet.
  const std::vector<pid_t>& forked() const { return forked_; }
  ForkedFate fate(bool unwanted) const;

 private:
  bool taken_ = false;
  std::size_t start_ = 0;  // the number of the last start
  std::vector<pid_t> forked_;
  bool delivered_ = false;
};

}  // namespace ddprun
