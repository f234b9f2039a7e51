#include "agent/decisions/staying_workers.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace {

/// The local ranks of the workers of whom that is true.
RankList those(const auto& workers, const auto& is_wanted) {
  RankList found;
  for (int local_rank = 0; local_rank < static_cast<int>(workers.size()); ++local_rank)
    if (is_wanted(workers[local_rank])) found.push_back(local_rank);
  return found;
}

}  // namespace

StayingWorkers::StayingWorkers(int workers) : workers_(static_cast<std::size_t>(workers)) {}

void StayingWorkers::begin_round(int round, const RankList& vacant, int world_size) {
  round_ = round;
  for (std::size_t local_rank = 0; local_rank < workers_.size(); ++local_rank) {
    Worker& worker = workers_[local_rank];
    worker.has_seat = !has_rank(vacant, static_cast<int>(local_rank));
    if (worker.has_seat) worker.world_size = world_size;
    if (worker.state == State::kStarts) continue;
    if (worker.has_seat)
      worker.state = worker.state == State::kParked ? State::kStays : State::kRuns;
    else if (worker.state == State::kGone)
      worker.state = State::kStarts;
  }
}

void StayingWorkers::begin_beside() {
  round_ = kNoRound;
  for (Worker& worker : workers_) {
    worker.has_seat = false;
    if (worker.state == State::kGone) worker.state = State::kStarts;
  }
}

void StayingWorkers::begin_hold() {
  for (Worker& worker : workers_) worker.held_at.reset();
}

void StayingWorkers::said(const WorkerSaid& word) {
  if (word.local_rank < 0 || word.local_rank >= static_cast<int>(workers_.size())) return;
  Worker& worker = workers_[word.local_rank];
  if (worker.state == State::kGone) return;
  match(
      word.what,
      [&](const CanStay& m) {
        const bool starts_anew = worker.state == State::kRuns || worker.state == State::kStarts;
        if (starts_anew) worker.resizes = m.resize;
        if (worker.has_seat && m.round == round_ && starts_anew) worker.state = State::kStays;
      },
      [&](const Holding& m) {
        if (worker.has_seat && m.round == round_) worker.held_at = m.step;
      },
      [&](const Parked& m) {
        if (m.round == kNoRound && worker.state == State::kStarts)
          worker.state = worker.has_seat ? State::kStays : State::kParked;
        else if (worker.has_seat && m.round == round_ && worker.state == State::kStays)
          worker.state = State::kParked;
      },
      [](const Stuck&) {},  // it is as it was until its end
      // One that has no seat ends without one.
      [&](const CannotStay&) { worker.state = worker.has_seat ? State::kRuns : State::kStarts; });
}

void StayingWorkers::ended(int local_rank) {
  if (local_rank < 0 || local_rank >= static_cast<int>(workers_.size())) return;
  workers_[local_rank] = Worker{.has_seat = workers_[local_rank].has_seat};
}

void StayingWorkers::clear() { std::ranges::fill(workers_, Worker{}); }

/// How many workers of the round there are in which of these states.
std::size_t StayingWorkers::count(std::initializer_list<State> states) const {
  return static_cast<std::size_t>(std::ranges::count_if(workers_, [&](const Worker& worker) {
    return worker.has_seat && std::ranges::count(states, worker.state) > 0;
  }));
}

bool StayingWorkers::all_can_stay() const {
  return living_can_stay() && count({State::kGone}) == 0;
}

bool StayingWorkers::all_can_hold() const { return all_can_stay() && count({State::kParked}) == 0; }

std::optional<std::int64_t> StayingWorkers::held_at() const {
  std::optional<std::int64_t> most;
  for (const Worker& worker : workers_) {
    if (!worker.has_seat) continue;
    if (!worker.held_at || *worker.held_at < 0) return std::nullopt;
    most = std::max(most.value_or(0), *worker.held_at);
  }
  return most;
}

bool StayingWorkers::living_can_stay() const {
  return count({State::kStays, State::kParked}) > 0 && none_has_to_end();
}

int StayingWorkers::living_beside() const {
  return static_cast<int>(std::ranges::count_if(workers_, [](const Worker& worker) {
    return !worker.has_seat && worker.state != State::kGone;
  }));
}

bool StayingWorkers::some_start() const {
  return std::ranges::any_of(workers_, [](const Worker& worker) {
    return !worker.has_seat && worker.state == State::kStarts;
  });
}

bool StayingWorkers::is_beside(int local_rank) const {
  return local_rank >= 0 && local_rank < static_cast<int>(workers_.size()) &&
         !workers_[local_rank].has_seat;
}

RankList StayingWorkers::beside() const {
  return those(workers_, [](const Worker& worker) { return !worker.has_seat; });
}

RankList StayingWorkers::in_round() const {
  return those(workers_, [](const Worker& worker) {
    return worker.has_seat && worker.state != State::kGone && worker.state != State::kParked;
  });
}

ParkedWorkers StayingWorkers::parked() const {
  const auto is_parked = [](const Worker& worker) { return worker.state == State::kParked; };
  ParkedWorkers parked{format_number_list(those(workers_, is_parked))};
  for (const Worker& worker : workers_)
    if (is_parked(worker) && !worker.resizes)
      parked.world_size = std::max(parked.world_size, worker.world_size);
  return parked;
}

}  // namespace ddprun
