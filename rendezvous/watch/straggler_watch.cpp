#include "rendezvous/watch/straggler_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

/// Times that a peer tells are added and subtracted. No machine is up for a century, and no rank
/// that goes on waits for a day.
constexpr std::int64_t kTimeMax = std::int64_t{1} << 52;
constexpr std::int64_t kPauseMax = std::int64_t{86'400} * 1'000'000;
/// A job has some groups for each rank.
constexpr std::size_t kGroupsMax = 65'536;
/// Looks at a worker may be rarer than at others, so that some moments have not all ranks.
constexpr std::size_t kMomentsMax = 4;

std::optional<ArrivalTimes> times_of(const GroupArrivals& told) {
  if (told.at_us < -kTimeMax || told.at_us > kTimeMax) return std::nullopt;
  if (told.first < 0 || told.first > kTimeMax) return std::nullopt;
  ArrivalTimes times{told.first, {told.at_us}};
  for (const std::int64_t pause : told.pauses_us) {
    if (pause < 0 || pause > kPauseMax) return std::nullopt;
    times.at_us.push_back(times.at_us.back() + pause);
  }
  return times;
}

double part(std::int64_t time_us, std::int64_t of_us) {
  return static_cast<double>(time_us) / static_cast<double>(std::max<std::int64_t>(of_us, 1));
}

}  // namespace

void StragglerWatch::begin_round(int round, int world_size) {
  *this = StragglerWatch{};
  round_ = round;
  world_size_ = world_size;
}

StragglerWatch::Change StragglerWatch::take(const Arrivals& told_by, TimePoint now) {
  if (suspended_ || told_by.round != round_ || told_by.rank < 0 || told_by.rank >= world_size_)
    return {};
  if (!told_.contains(told_by.look) && told_.size() >= kMomentsMax) told_.erase(told_.begin());
  Told& told = told_[told_by.look];
  for (const GroupArrivals& group : told_by.groups)
    if (auto times = judged_part(group); times && told.arrivals.size() < kGroupsMax)
      told.arrivals[group.group][told_by.rank] = std::move(*times);
  if (told_by.strain) strains_[told_by.rank] = *told_by.strain;
  told.ranks.insert(told_by.rank);
  if (static_cast<int>(told.ranks.size()) < world_size_) return {};
  look(told, now);
  told_.erase(told_.begin(), told_.upper_bound(told_by.look));
  return changed(now);
}

/// What a rank has entered since the job was debugged the last time; nullopt: nothing.
std::optional<ArrivalTimes> StragglerWatch::judged_part(const GroupArrivals& told) const {
  auto times = times_of(told);
  if (!times || !resumed_) return times;
  const auto first = std::ranges::lower_bound(times->at_us, microseconds(*resumed_));
  times->first += first - times->at_us.begin();
  times->at_us.erase(times->at_us.begin(), first);
  if (times->at_us.empty()) return std::nullopt;
  return times;
}

void StragglerWatch::suspend(TimePoint now) {
  suspended_ = now;
  told_.clear();
  samples_.reset();
}

void StragglerWatch::resume(TimePoint now) {
  if (!suspended_) return;
  for (auto& [rank, suspect] : suspects_) suspect.since += now - *suspended_;
  suspended_.reset();
  resumed_ = now;
}

void StragglerWatch::look(const Told& told, TimePoint now) {
  auto before = std::exchange(shares_, {});
  for (const auto& [name, members] : told.arrivals) {
    const auto found =
        measure_lateness(members, kLatenessSteps, std::chrono::microseconds{kLatenessTime}.count());
    if (!found) continue;
    auto& until = looked_until_[name];
    const double newer =
        part(found->last - std::max(until, found->first - 1), found->last - found->first + 1);
    if (newer < kNewPart) continue;
    until = found->last;
    note(*found);
  }
  if (shares_.empty()) {
    shares_ = std::move(before);
    return;
  }
  compare_strains();
  for (const auto& [rank, share] : shares_) judge(rank, share, now);
  choose_sampled(now);
}

void StragglerWatch::compare_strains() {
  std::vector<StrainRates> strains;
  for (const auto& [rank, strain] : strains_) strains.push_back(*strain_of(rank));
  usual_ = median_of(strains);
  StrainRates best = usual_;
  for (const StrainRates& strain : strains) {
    best.sending = std::min(best.sending, strain.sending);
    best.round_trip_ms = std::min(best.round_trip_ms, strain.round_trip_ms);
  }
  unequal_networks_ = std::ranges::any_of(strains, [&](const StrainRates& strain) {
    return network_excess(strain, best) >= kSlowNetwork;
  });
}

/// A rank may be in several groups: that in which it is latest counts, and that in which it waits
/// most.
void StragglerWatch::note(const GroupLateness& group) {
  for (const auto& [rank, lateness] : group.ranks) {
    Share& share = shares_[rank];
    const double late = part(lateness.late_us, group.elapsed_us);
    const double waited = std::max(share.waited, part(lateness.waited_us, group.elapsed_us));
    if (late >= share.late)
      share = {.late = late,
               .waited = 0,
               .cost = part(lateness.cost_us, group.elapsed_us),
               .steps = part(lateness.times_late, group.steps),
               .late_us = lateness.late_us / group.steps,
               .step_us = group.elapsed_us / group.steps};
    share.waited = waited;
  }
}

/// It is late because of another rank, in another group.
bool StragglerWatch::waits_itself(const Share& share) {
  return share.waited > kOwnWait * share.late;
}

bool StragglerWatch::is_late(const Share& share) {
  return share.late >= kLatePart && share.steps >= kLateSteps && !waits_itself(share);
}

/// One whose network is slow is late by a little as well: the last message reaches it last.
void StragglerWatch::judge(int rank, const Share& seen, TimePoint now) {
  Share share = seen;
  const auto slows = slows_all(rank);
  if (slows.value_or(0) > share.late)
    share = {.late = 0, .cost = *slows, .late_us = 0, .step_us = seen.step_us};
  if (slows || is_late(share)) {
    Suspect& suspect =
        suspects_.try_emplace(rank, Suspect{.share = share, .since = now}).first->second;
    suspect.share = share;
    suspect.misses = 0;
    ++suspect.looks;
    if (suspect.looks >= kLateLooks && now - suspect.since >= kLateFor && is_to_blame(rank))
      suspect.told = true;
    return;
  }
  const auto found = suspects_.find(rank);
  if (found == suspects_.end()) return;
  if (!found->second.told || ++found->second.misses >= kLateLooks) suspects_.erase(found);
}

/// A suspect that sleeps, for all that is known, is looked at before it is reported, so that the
/// report has the place.
void StragglerWatch::choose_sampled(TimePoint now) {
  if (samples_ && suspects_.contains(samples_->rank())) return;
  samples_.reset();
  const auto worst = std::ranges::max_element(
      suspects_, {}, [](const auto& suspect) { return suspect.second.share.late; });
  if (worst == suspects_.end()) return;
  const SlowBecause because = why(worst->first).because;
  if (because == SlowBecause::kUnknown || because == SlowBecause::kWaitsOutside)
    samples_.emplace(worst->first, now);
}

std::optional<TimePoint> StragglerWatch::next_sample() const {
  return samples_ ? samples_->due() : std::nullopt;
}

StragglerWatch::Sample StragglerWatch::sample(int number, TimePoint now) {
  return {samples_->rank(), samples_->ask(round_, number, now)};
}

void StragglerWatch::take(const Inspected& answer) {
  if (samples_) samples_->take(answer);
}

/// Several ranks that are late together cost as much as the latest of them.
StragglerWatch::Change StragglerWatch::changed(TimePoint now) {
  std::vector<int> ranks;
  const Suspect* worst = nullptr;
  int worst_rank = 0;
  for (const auto& [rank, suspect] : suspects_) {
    if (!suspect.told) continue;
    ranks.push_back(rank);
    if (worst != nullptr && suspect.share.late <= worst->share.late) continue;
    worst = &suspect;
    worst_rank = rank;
  }
  const std::optional<Straggler> before = std::exchange(straggler_, std::nullopt);
  if (worst == nullptr) return before ? Change{Over{before->ranks}} : Change{};
  const Share& share = worst->share;
  const double cost = ranks.size() == 1 || share.late == 0 ? share.cost : share.late;
  straggler_ = Straggler{.ranks = format_number_list(ranks),
                         .node = "",
                         .cost_percent = std::min(100 * cost, 100.0),
                         .late_us = share.late_us,
                         .step_us = share.step_us,
                         .lasts_ms = duration_cast<milliseconds>(now - worst->since).count(),
                         .why = why(worst_rank).sentence,
                         .sentence = ""};
  if (before && straggler_->why.empty()) straggler_->why = before->why;
  const bool is_known = before && before->ranks == straggler_->ranks &&
                        before->why.empty() == straggler_->why.empty();
  return is_known ? Change{} : Change{Found{*straggler_}};
}

/// What a rank waits in collectives, it does not wait for by itself.
std::optional<StrainRates> StragglerWatch::strain_of(int rank) const {
  const auto told = strains_.find(rank);
  if (told == strains_.end()) return std::nullopt;
  StrainRates strain = told->second;
  if (const auto share = shares_.find(rank); share != shares_.end())
    strain.waited = share->second.waited;
  return strain;
}

/// The part of the time that its network costs all; nullopt: too little.
std::optional<double> StragglerWatch::slows_all(int rank) const {
  const auto own = strain_of(rank);
  if (!own) return std::nullopt;
  const double share = network_excess(*own, usual_);
  const auto idle = idle_share(*own), idle_of_all = idle_share(usual_);
  if (!idle || !idle_of_all) return std::nullopt;
  const double cost = std::min({share, *idle, *idle_of_all});
  return cost >= kSlowNetwork ? std::optional{cost} : std::nullopt;
}

/// Where the network of some is slow, a rank may be late because its part of the collective before
/// came last, through the network of another. It is blamed only for a cause of its own.
bool StragglerWatch::is_to_blame(int rank) const {
  const auto own = strain_of(rank);
  if (!own || !unequal_networks_ || slows_all(rank)) return true;
  const SlowBecause because = why_slow(*own, usual_).because;
  if (because == SlowBecause::kUnknown) return false;
  const bool slept = samples_ && samples_->rank() == rank && !samples_->sentence().empty();
  return because != SlowBecause::kWaitsOutside || slept;
}

SlowCause StragglerWatch::why(int rank) const {
  const auto own = strain_of(rank);
  std::vector<StrainRates> others;
  for (const auto& [each, told] : strains_)
    if (each != rank) others.push_back(*strain_of(each));
  if (!own || others.empty()) return {};
  if (slows_all(rank)) return {SlowBecause::kNetwork, network_sentence(*own, usual_)};
  const bool sampled = samples_ && samples_->rank() == rank;
  return why_slow(*own, median_of(others), sampled ? samples_->sentence() : "");
}

std::optional<double> StragglerWatch::late_part(int rank) const {
  const auto share = shares_.find(rank);
  if (share == shares_.end()) return std::nullopt;
  return waits_itself(share->second) ? 0 : share->second.late;
}

}  // namespace ddprun
