#include "worker_sdk/elastic/membership.hpp"

#include <algorithm>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void Membership::load(const StateName& name) {
  if (place_ != Place::kOutside && place_ != Place::kEntering)
    throw std::logic_error{"load_state_dict() within a world: load before ElasticRun::worlds()"};
  name_ = name;
  whole_ = true;
}

void Membership::require_size(int size) {
  if (!size_) size_ = size;
  if (!resize_ && size != *size_)
    throw std::runtime_error{"a world of " + std::to_string(size) + " workers follows one of " +
                             std::to_string(*size_) +
                             ", and ElasticRun{{.resize = false}} keeps its number of workers: "
                             "restart all of them from the checkpoint, as `ddprun "
                             "--no-in-place` does"};
}

void Membership::enter(std::int64_t round) {
  if (place_ != Place::kOutside)
    throw std::logic_error{
        "a world is entered within another one: one worker is in one world at a time"};
  world_ = round;
  has_come_to_its_end_ = false;
  held_ = kNotHeld;
  limit_.reset();
  place_ = Place::kEntering;
}

std::optional<std::int64_t> Membership::begin_training(std::int64_t line_round) {
  name_.round = std::max(world_.load(), line_round + 1);
  place_ = Place::kTraining;
  if (asked_ != world() || left_ >= world_) return std::nullopt;
  asked_.reset();
  return hold(world_);
}

void Membership::end_round(std::int64_t round) { left_ = std::max(left_.load(), round); }

std::optional<std::int64_t> Membership::hold(std::int64_t round) {
  if (is_to_train_in(round)) {
    asked_ = round;
    return std::nullopt;
  }
  if (round != world_) return kNotHeld;
  if (held_ == kNotHeld && place_ == Place::kTraining) held_ = name_.step;
  if (held_ == kNotHeld && place_ == Place::kUpdating) held_ = name_.step + 1;
  return held_;
}

/// Whether this worker is about to enter that round, or enters it.
bool Membership::is_to_train_in(std::int64_t round) const {
  if (place_ == Place::kEnding || left_ >= round) return false;
  return round > world_ || (round == world_ && place_ == Place::kEntering);
}

void Membership::end_hold() {
  asked_.reset();
  if (is_held()) end_round(world_);
}

void Membership::leave_after(std::int64_t round, std::int64_t step) {
  if (round != world_ || held_ == kNotHeld) return;
  limit_ = step;
  compare_with_limit();
}

void Membership::compare_with_limit() {
  if (limit_ && name_.step >= *limit_) has_come_to_its_end_ = true;
}

bool Membership::is_held() const {
  return place_ != Place::kOutside && held_ != kNotHeld && !limit_ && !world_has_ended();
}

bool Membership::end_loop() {
  if (held_ == kNotHeld) {
    place_ = Place::kEnding;
    return true;
  }
  has_come_to_its_end_ = true;
  return false;
}

void Membership::require_world(const std::string& what) const {
  if (place_ != Place::kTraining && place_ != Place::kUpdating)
    throw std::logic_error{what + " outside of its world: use it within ElasticRun::worlds()"};
  require_unchanged();
}

void Membership::require_unchanged() const {
  if (has_to_leave())
    throw WorldChanged{"the members of round " + std::to_string(world_.load()) + " change"};
}

void Membership::require_whole(const std::string& what) const {
  if (!whole_)
    throw std::logic_error{what +
                           " in the middle of an update, or after one that has failed: the state "
                           "of step " +
                           std::to_string(name_.step) + " is torn"};
}

void Membership::begin_update(bool last_part) {
  if (place_ == Place::kUpdating)
    throw std::logic_error{"update() within an update: each step has one"};
  require_world("update()");
  if (!whole_)
    throw std::logic_error{"update() after an update that has failed: the state of step " +
                           std::to_string(name_.step) + " is torn"};
  if (!last_part)
    throw std::logic_error{"update() before the last part of the step: ask World::is_last_part()"};
  if (is_held())
    throw std::logic_error{"an update begins while its world is held: wait until it is not"};
  place_ = Place::kUpdating;
  whole_ = false;
}

void Membership::drop_update() {
  place_ = Place::kTraining;
  whole_ = true;
}

void Membership::end_update(bool well) {
  place_ = Place::kTraining;
  if (!well) return;
  ++name_.step;
  whole_ = true;
  compare_with_limit();
}

std::string differing_parts(const std::vector<Loaded>& members) {
  for (std::size_t rank = 0; rank < members.size(); ++rank)
    if (members[rank].parts != members.front().parts)
      return "rank " + std::to_string(rank) + " keeps the parts " + listed(members[rank].parts) +
             ", and rank 0 keeps " + listed(members.front().parts) +
             ": all workers run the same program";
  return "";
}

std::optional<Line> choose_line(const std::vector<Loaded>& members) {
  std::optional<Line> line;
  for (const Loaded& member : members)
    if (member.whole && (!line || line->name < member.name)) line = Line{member.name, {}, {}};
  const auto is_newer = [&](const Loaded& member) { return line->name < member.name; };
  if (!line || std::ranges::any_of(members, is_newer)) return std::nullopt;  // that one is torn
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const bool has_it = members[rank].whole && members[rank].name == line->name;
    (has_it ? line->sources : line->lacking).push_back(static_cast<int>(rank));
  }
  return line;
}

}  // namespace ddprun::sdk
