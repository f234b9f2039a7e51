// FailedLoads decides when the checkpoint that rounds continue from seems to be to blame for their
// failures: the program fails in the same way each time, soon after it was loaded. Then an older
// one is loaded, and that one no more. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

class FailedLoads {
 public:
  /// Steps after loading that are soon. A bug that comes later comes from an older one, too.
  static constexpr std::int64_t kSoon = 10;

  /// A round begins from that.
  void begin_round(const RoundCheckpoint& from);
  /// A checkpoint counts that was kept in the round.
  void counted() { has_newer_ = true; }
  /// A round failed after that many steps since its workers had loaded the checkpoint; -1: they
  /// tell none. `cause` is nullptr where it is not known.
  void failed(const Cause* cause, std::int64_t steps);

  /// Twice alike are enough, or three times where nobody knows whether it was soon.
  bool are_alike() const { return alike_ >= (told_steps_ ? 2 : 3); }
  /// Whether the last one that was loaded is to blame.
  bool blame_last() const { return are_alike() && loaded_ > 0 && !has_newer_; }

  /// The numbers of those that were to blame, and also of the last one.
  const std::set<int>& failing() const { return failing_; }
  std::set<int> failing_with_last() const;

 private:
  void forget_failures();

  std::string fingerprint_;
  int alike_ = 0;  // failures in a row
  bool told_steps_ = false;
  int loaded_ = 0;          // that the last round has continued from
  bool has_newer_ = false;  // one counts that was kept since then
  std::set<int> failing_;
};

}  // namespace ddprun
