#include "agent/decisions/staying_workers.hpp"

#include <algorithm>

#include "base/match.hpp"
#include "base/numbers.hpp"

namespace ddprun {

StayingWorkers::StayingWorkers(int workers) : workers_(static_cast<std::size_t>(workers)) {}

void StayingWorkers::begin_round(int round, const RankList& vacant, int world_size) {
  round_ = round;
  in_place_ = false;
  reported_ = Stays::kUnknown;
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

void StayingWorkers::prepare() {
  round_ = kNoRound;
  for (Worker& worker : workers_) {
    worker.has_seat = false;
    if (worker.state == State::kGone) worker.state = State::kStarts;
  }
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

RankList StayingWorkers::those(bool with_seat, std::initializer_list<State> states) const {
  RankList found = ranks_from(0, static_cast<int>(workers_.size()));
  std::erase_if(found, [&](int local_rank) {
    const Worker& worker = workers_[local_rank];
    return worker.has_seat != with_seat || std::ranges::count(states, worker.state) == 0;
  });
  return found;
}

bool StayingWorkers::all_can_stay() const {
  return !those(true, {State::kStays, State::kParked}).empty() &&
         those(true, {State::kGone, State::kRuns, State::kStarts}).empty();
}

bool StayingWorkers::hold() {
  in_place_ = all_can_stay() && those(true, {State::kParked}).empty();
  for (Worker& worker : workers_) worker.held_at.reset();
  return in_place_;
}

bool StayingWorkers::leave() {
  in_place_ = !those(true, {State::kStays, State::kParked}).empty() && none_has_to_end();
  return in_place_;
}

std::optional<std::int64_t> StayingWorkers::held_at() const {
  std::optional<std::int64_t> most;
  for (const Worker& worker : workers_) {
    if (!worker.has_seat) continue;
    if (!worker.held_at || *worker.held_at < 0) return std::nullopt;
    most = std::max(most.value_or(0), *worker.held_at);
  }
  return most;
}

std::optional<WorkersStay> StayingWorkers::report(bool one_failed) {
  const bool others_can = reported_ == Stays::kNoMore && none_has_to_end();
  const bool stay = one_failed ? has_reported() || others_can : all_can_stay();
  if (has_reported() == stay) return std::nullopt;
  reported_ = stay ? Stays::kYes : Stays::kNoMore;
  return WorkersStay{round_, stay};
}

int StayingWorkers::living_without_seat() const {
  return static_cast<int>(without_seat().size() - those(false, {State::kGone}).size());
}

RankList StayingWorkers::without_seat() const {
  return those(false, {State::kGone, State::kStarts, State::kRuns, State::kStays, State::kParked});
}

ParkedWorkers StayingWorkers::parked() const {
  const RankList waiting = united(those(true, {State::kParked}), those(false, {State::kParked}));
  ParkedWorkers parked{format_number_list(waiting)};
  for (const int local_rank : waiting)
    if (const Worker& worker = workers_[local_rank]; !worker.resizes)
      parked.world_size = std::max(parked.world_size, worker.world_size);
  return parked;
}

}  // namespace ddprun
