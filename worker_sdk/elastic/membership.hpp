// Membership: what a worker may do when, which state it has, and who gives its state to whom. It
// is that of the module for Python (worker_sdk/python/ddprun/_membership.py). Pure.
//
// A state is named by the round in which its last step was counted, and the number of that step.
// The number alone is not enough: a worker that was cut off may have counted a step that the others
// have counted again. A state is whole between two updates, and torn from the begin of one to its
// end: an update that fails leaves it torn.
//
// If no worker is lost, members change without dropping a step: each one is held, and reports how
// many steps it has counted; the greatest of these numbers plus one is the limit. No worker has
// begun that step before all know the limit, so all leave right behind it, at the same place of
// their program. A worker that is to enter that world, but has not yet, answers when it begins to
// train there: it has a state then, and no step was counted without it.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::sdk {

/// The members of the job change, so the current step counts on no worker. It is no std::exception,
/// so that a program that goes on after any error does not go on after this one.
struct WorldChanged {
  std::string reason;
};

struct StateName {
  std::int64_t round = 0;
  std::int64_t step = 0;
  auto operator<=>(const StateName&) const = default;
};

/// The answer of a worker that cannot be held.
inline constexpr std::int64_t kNotHeld = -1;

/// Refuses, by a std::logic_error that says why, what cannot be done now, and by WorldChanged what
/// a change of the members forbids. One thread uses it, and another one may hold it. So enter(),
/// begin_training(), hold(), end_hold(), leave_after(), is_held(), end_loop() and the calls of an
/// update are called with a lock. Any thread may call end_round(), has_to_leave(),
/// is_told_to_leave(), world_has_ended() and leaves_in_order() without.
class Membership {
 public:
  /// kEnding: the loop is over, and the other members may have finished.
  enum class Place { kOutside, kEntering, kTraining, kUpdating, kEnding };

  /// `resize`: whether worlds may differ in their number of members.
  explicit Membership(bool resize = true) : resize_{resize} {}

  Place place() const { return place_; }
  std::int64_t world() const { return world_; }
  StateName name() const { return name_; }
  bool is_whole() const { return whole_; }

  /// Whether the world that was entered last is to be left, or was.
  bool world_has_ended() const { return left_ >= world_ || has_come_to_its_end_; }
  /// Whether that world ends behind its last step, with all of its members, and not by an order.
  bool leaves_in_order() const { return has_come_to_its_end_ && left_ < world_; }
  bool has_to_leave() const { return place_ != Place::kOutside && world_has_ended(); }
  /// Whether that is because the world was ordered to end: its members may not come any more.
  bool is_told_to_leave() const { return place_ != Place::kOutside && left_ >= world_; }

  /// The state was replaced by one that was saved, or that another worker has sent.
  void load(const StateName& name);

  /// A world of `size` members is about to be entered. Errors: std::runtime_error if it must not
  /// be.
  void require_size(int size);

  void enter(std::int64_t round);
  /// All members have the line now, and name what follows by this round: numbers of rounds restart
  /// with each job, and those of states go on. Returns the answer that hold() owes, which
  /// is to be sent; nullopt: it owes none.
  std::optional<std::int64_t> begin_training(std::int64_t line_round);
  /// The members of that round change. A pending update counts still: its gradients are all there.
  void end_round(std::int64_t round);
  void leave() { place_ = Place::kOutside; }

  /// The members of that round are about to change, and none is lost. No further update begins
  /// until the limit is known. Returns how many steps this worker has counted, with the one that it
  /// is counting; asked again, the same. kNotHeld: it does not train in that round any more.
  /// nullopt: not yet, and begin_training() answers.
  std::optional<std::int64_t> hold(std::int64_t round);
  /// No limit will come for this world: a held worker leaves it at once, and one that owes an
  /// answer is not held.
  void end_hold();
  /// A worker that is held in that round goes on, and leaves it when that step is counted.
  void leave_after(std::int64_t round, std::int64_t step);
  /// Whether an update has to wait: how far this world goes is being asked.
  bool is_held() const;
  /// The program has no further step to do. Returns whether the training is over: who is held
  /// leaves instead, and ends in the world that follows, so that who enters that one gets the last
  /// state.
  bool end_loop();

  void require_world(const std::string& what) const;
  void require_unchanged() const;
  void require_whole(const std::string& what) const;

  void begin_update(bool last_part);
  /// The update is refused before it has changed anything.
  void drop_update();
  void end_update(bool well);

 private:
  bool is_to_train_in(std::int64_t round) const;
  void compare_with_limit();

  bool resize_;
  std::optional<int> size_;  // the first world's; not set: there was none
  std::atomic<Place> place_ = Place::kOutside;
  std::atomic<std::int64_t> world_ = -1;  // the round of the world that was entered last
  std::atomic<std::int64_t> left_ = -1;   // the greatest round that was ordered to end
  std::atomic<bool> has_come_to_its_end_ = false;
  std::int64_t held_ = kNotHeld;       // the answer to hold() in that world
  std::optional<std::int64_t> asked_;  // it is to be held as soon as it trains in that round
  std::optional<std::int64_t> limit_;  // the last step of that world
  StateName name_;
  bool whole_ = true;
};

/// What a member has when it enters.
struct Loaded {
  StateName name;
  bool whole = true;
  std::vector<std::string> parts;  // the names of its state's parts
};

/// The state that all members begin with: its name, the ranks that have it, and those that lack it.
struct Line {
  StateName name;
  std::vector<int> sources;
  std::vector<int> lacking;
};

/// Returns a sentence where members do not keep the same parts; "" where they do.
std::string differing_parts(const std::vector<Loaded>& members);

/// Returns the whole state with the greatest name, of the round first; nullopt where no member has
/// a whole one. The members of the round before have parked, or are dead, so none of them counts a
/// step any more, and who has exactly that name has exactly that state.
std::optional<Line> choose_line(const std::vector<Loaded>& members);

}  // namespace ddprun::sdk
