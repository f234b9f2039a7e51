// Turns: the places at which a coordinator is looked for, one after the other, again and again, and
// what was found there. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

class Turns {
 public:
  /// At `places`, HOST:PORT or "" as ReachCoordinator's `at`, from `since` on.
  Turns(std::vector<std::string> places, TimePoint since);

  struct Try {
    std::string place;
    std::size_t turn = 0;      // turns that were made before
    bool begins_turn = false;  // it is the first try of its turn
  };
  Try next();
  /// The place that comes next; after the last one that again.
  Try next_or_last();
  std::size_t tries() const { return tries_; }
  /// The place that was tried last comes once more, and only once, before the next one.
  void repeat();

  TimePoint since() const { return since_; }
  /// Whether connections were refused at all places that were tried.
  bool all_refuse() const { return all_refuse_; }
  /// Whether each place was tried, and refuses connections.
  bool all_gone() const { return all_refuse_ && tries_ > places_.size(); }

  /// One more place is tried in its turn.
  void add(const std::string& place);
  void failed(const std::string& place, const std::string& reason, bool refused);
  void found(const std::string& place, const std::string& what);
  /// What was found at the places, in their order, but not where somebody has sent this node.
  std::string findings() const;
  const std::string& last_reason() const { return reason_; }
  /// The note that the user gets now and then when it takes long; it is given up after `patience`.
  std::optional<std::string> note(std::chrono::milliseconds patience, TimePoint now);

  /// A node has named a coordinator of that epoch. Returns whether none has named as late
  /// a one in this turn: two whose news are old might send a node to and fro.
  bool hear(std::int64_t epoch);

 private:
  TimePoint since_;
  TimePoint note_due_;
  std::vector<std::string> places_;
  std::size_t tries_ = 0;
  std::size_t repeated_ = 0;  // the number of the try that was made again last
  bool all_refuse_ = true;
  std::string reason_ = "the coordinator is lost, and no other node has taken over";
  std::map<std::string, std::string> findings_;
  std::int64_t heard_epoch_ = 0;
};

}  // namespace ddprun
