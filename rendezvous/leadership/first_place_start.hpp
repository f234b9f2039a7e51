// FirstPlaceStart decides when the first place of a job may begin it. Pure.
//
// A job that has no round yet has no voters, so one place alone may begin it: the first of
// its places. That may be a machine that was started again, of a job which goes on elsewhere. So it
// asks the others for a leader. Places that are silent count as empty, or a job could not
// begin before all its machines are on; but once a place has named a leader, silence is no proof
// of its end. Even when all places are empty then, nodes of that job may be on their way here: they
// get some time. docs/internals/succession.md, section "Several places".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// Pause after the answers, before the other places are asked again.
inline constexpr std::chrono::milliseconds kAskPause{500};

class FirstPlaceStart {
 public:
  /// `asks`: this is the first place, and may begin the job. `others` are the other places. Nodes
  /// that have lost their leader come here within `patience`.
  FirstPlaceStart(bool asks, std::vector<std::string> others, std::chrono::milliseconds patience)
      : waits_{asks}, others_{std::move(others)}, patience_{patience} {}

  /// Whether the job is still to be begun here.
  bool waits() const { return waits_; }
  /// Somebody else leads the job, or nodes of an earlier round have come.
  void give_up() { waits_ = false; }

  /// Where to ask now; nullopt: nothing is due.
  std::optional<std::vector<std::string>> ask(TimePoint now);
  /// When the next question is due; nullopt: never, or an answer is awaited.
  std::optional<TimePoint> next_question() const;

  /// Nodes that were asked have answered. `all`: each of them has, or refuses connections. Returns
  /// whether the job begins now.
  bool hear(const Leader& found, bool all, TimePoint now);

 private:
  bool waits_;
  std::vector<std::string> others_;
  std::chrono::milliseconds patience_;
  Leader found_;        // the last leader that a place named
  TimePoint found_at_;  // when a place named it last
  TimePoint due_;       // the next question
  bool asked_ = false;  // an answer is awaited
};

}  // namespace ddprun
