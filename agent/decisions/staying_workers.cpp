#include "agent/decisions/staying_workers.hpp"

#include <algorithm>

#include "base/match.hpp"

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

void StayingWorkers::begin_round(int round, const RankList& vacant) {
  round_ = round;
  for (std::size_t local_rank = 0; local_rank < workers_.size(); ++local_rank) {
    auto& [state, has_seat, held_at] = workers_[local_rank];
    has_seat = !has_rank(vacant, static_cast<int>(local_rank));
    if (state == State::kStarts) continue;
    if (has_seat)
      state = state == State::kParked ? State::kStays : State::kRuns;
    else if (state == State::kGone)
      state = State::kStarts;
  }
}

void StayingWorkers::begin_beside() {
  round_ = kNoRound;
  for (auto& [state, has_seat, held_at] : workers_) {
    has_seat = false;
    if (state == State::kGone) state = State::kStarts;
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
  if (local_rank >= 0 && local_rank < static_cast<int>(workers_.size()))
    workers_[local_rank].state = State::kGone;
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

RankList StayingWorkers::parked() const {
  return those(workers_, [](const Worker& worker) { return worker.state == State::kParked; });
}

}  // namespace ddprun
