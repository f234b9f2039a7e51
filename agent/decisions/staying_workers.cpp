#include "agent/decisions/staying_workers.hpp"

#include <algorithm>

#include "base/match.hpp"

namespace ddprun {

StayingWorkers::StayingWorkers(int workers)
    : workers_(static_cast<std::size_t>(workers), State::kGone) {}

void StayingWorkers::begin_round(int round) {
  round_ = round;
  for (State& worker : workers_)
    if (worker != State::kStarts) worker = worker == State::kParked ? State::kStays : State::kRuns;
}

void StayingWorkers::begin_beside() {
  round_ = kNoRound;
  std::ranges::fill(workers_, State::kStarts);
}

void StayingWorkers::said(const WorkerSaid& word) {
  if (word.local_rank < 0 || word.local_rank >= static_cast<int>(workers_.size())) return;
  State& worker = workers_[word.local_rank];
  if (worker == State::kGone) return;
  match(
      word.what,
      [&](const CanStay& m) {
        const bool starts_anew = worker == State::kRuns || worker == State::kStarts;
        if (round_ != kNoRound && m.round == round_ && starts_anew) worker = State::kStays;
      },
      [&](const Parked& m) {
        if (m.round == kNoRound && worker == State::kStarts)
          worker = round_ == kNoRound ? State::kParked : State::kStays;
        else if (m.round == round_ && worker == State::kStays)
          worker = State::kParked;
      },
      [](const Stuck&) {},  // it is as it was until its end
      // One that has no place yet ends without one.
      [&](const CannotStay&) { worker = round_ == kNoRound ? State::kStarts : State::kRuns; });
}

void StayingWorkers::ended(int local_rank) {
  if (local_rank >= 0 && local_rank < static_cast<int>(workers_.size()))
    workers_[local_rank] = State::kGone;
}

void StayingWorkers::clear() { std::ranges::fill(workers_, State::kGone); }

std::size_t StayingWorkers::count(State state) const {
  return static_cast<std::size_t>(std::ranges::count(workers_, state));
}

bool StayingWorkers::all_can_stay() const { return living_can_stay() && count(State::kGone) == 0; }

bool StayingWorkers::living_can_stay() const {
  return count(State::kStays) + count(State::kParked) > 0 && count(State::kRuns) == 0 &&
         !some_start();
}

bool StayingWorkers::living_are_parked() const {
  return count(State::kParked) > 0 &&
         count(State::kParked) + count(State::kGone) == workers_.size();
}

std::vector<int> StayingWorkers::in_round() const {
  std::vector<int> found;
  for (int local_rank = 0; local_rank < static_cast<int>(workers_.size()); ++local_rank) {
    const State state = workers_[local_rank];
    if (state != State::kGone && state != State::kParked) found.push_back(local_rank);
  }
  return found;
}

}  // namespace ddprun
