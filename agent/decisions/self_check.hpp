// SelfCheck: when this node looks at itself, and what then follows (--check-nodes). A node that is
// not fit takes part only while others are too few. Pure.
//
// It looks before it joins, after each round that another one may follow, and again and again while
// it waits for a round.
#pragma once

#include <chrono>
#include <optional>

#include "agent/decisions/agent_state.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// A check waits this long for what dead workers have left, such as memory of a GPU, to go away.
inline constexpr std::chrono::milliseconds kCheckPatience{30'000};
/// A check takes at most this much longer. What it asks, a disk or a driver, has 5 s.
inline constexpr std::chrono::milliseconds kCheckAnswer{7'000};
inline constexpr std::chrono::milliseconds kCheckTimeMax = kCheckPatience + kCheckAnswer;
/// A waiting node checks itself again after this time, and after twice as long the next time, up to
/// the maximum: a disk that hangs keeps a process for each check.
inline constexpr std::chrono::milliseconds kCheckAgain{30'000};
inline constexpr std::chrono::milliseconds kCheckAgainMax{600'000};

class SelfCheck {
 public:
  /// What waits for a look, or what one has been taken for.
  enum class For { kNothing, kJoin, kAnswer, kWaiting };

  /// `agent` must outlive it.
  explicit SelfCheck(AgentState& agent) : agent_{agent} {}

  /// The node is about to join, to say that its workers have stopped, or waits. Returns whether
  /// that has to wait for the look, which begins; false where the node does not check itself.
  bool begin(For what);
  /// A check has ended. If it is the last one, reports to the coordinator what has changed. Returns
  /// what the check was for.
  For checked(const Checked& found, TimePoint now);
  /// A round begins with this node: a pending check is discarded.
  void forget();
  /// The node has joined. What was found since its request to join has not been reported.
  void joined();

  /// When the next look is due, of a node that waits; nullopt: there is none.
  std::optional<TimePoint> due() const { return due_; }
  /// Looks again if it is due.
  void look_again(TimePoint now);

 private:
  void note(const Checked& found, For what, TimePoint now);

  AgentState& agent_;
  int checks_ = 0;            // so far
  For what_ = For::kNothing;  // purpose of the last check, while it is in progress
  std::chrono::milliseconds interval_{};
  bool was_well_ = false;  // at the last look, of a node that is not taken to be well yet
  std::optional<TimePoint> due_;
};

}  // namespace ddprun
