#include "rendezvous/watch/hang_watch.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace ddprun {

namespace {

using std::chrono::milliseconds;
using Rank = ProgressTable::Rank;
using Ranks = std::set<int>;

bool pending(const GroupProgress& group) { return group.enqueued > group.completed; }

bool waits_in_store(const RankProgress& rank) { return !rank.ended && !rank.waits_in.empty(); }

/// A rank that has ended does not wait, even if it has not reported that its last collective was
/// done.
bool waits_in(const RankProgress& rank, const GroupProgress& group) {
  return !rank.ended && pending(group);
}

bool waits(const RankProgress& rank) {
  return waits_in_store(rank) ||
         std::ranges::any_of(rank.groups, [&](const auto& group) { return waits_in(rank, group); });
}

/// A place where workers wait.
struct Place {
  std::string group;  // "": the store
  std::int64_t sequence = 0;
  Ranks waiting;
  Ranks missing;
};

class Suspecting {
 public:
  Suspecting(const ProgressTable& table, HangPatience patience, TimePoint now)
      : table_{table}, timeout_{patience.timeout}, learned_{patience.learned}, now_{now} {}

  std::optional<Suspicion> result() const {
    if (auto found = those_who_wait()) return found;
    return nobody_goes_on();
  }

 private:
  TimePoint since(int rank) const {
    const Rank* const known = table_.find(rank);
    return known == nullptr ? table_.began() : known->since;
  }
  milliseconds stillness(int rank) const {
    return std::chrono::duration_cast<milliseconds>(now_ - since(rank));
  }
  bool still(int rank) const { return stillness(rank) >= timeout_; }
  bool all_still(const Ranks& ranks) const {
    return std::ranges::all_of(ranks, [&](int rank) { return still(rank); });
  }

  /// Whether a worker that no other has met yet is stuck, and not only on its way. Where others
  /// have stayed from the round before it is the only one that has to start, and takes longer than
  /// they.
  bool stuck_at_start(int rank) const {
    if (!still(rank)) return false;
    if (stillness(rank) >= std::max(timeout_, kStartPatience)) return true;
    const Rank* const known = table_.find(rank);
    if (known == nullptr) return false;
    const bool starts_alone = !known->last.stayed && somebody_stayed();
    return known->last.ended || known->last.idle || (known->last.busy && !starts_alone);
  }
  bool somebody_stayed() const {
    return std::ranges::any_of(table_.ranks(),
                               [](const auto& each) { return each.second.last.stayed; });
  }

  std::optional<Suspicion> those_who_wait() const {
    std::vector<Place> places = collectives();
    if (auto in_store = store()) places.push_back(std::move(*in_store));
    Ranks waiting;
    for (const Place& place : places) waiting.insert(place.waiting.begin(), place.waiting.end());
    if (waiting.empty()) return std::nullopt;
    std::vector<WaitingRanks> waits = waits_of(places);
    // Ranks that wait elsewhere are held up themselves, so those that wait for nothing are to
    // blame.
    for (Place& place : places) {
      std::erase_if(place.missing, [&](int rank) { return waiting.contains(rank); });
      if (place.missing.empty()) continue;
      if (somebody_waits(place.missing) || may_come_yet(place)) return std::nullopt;
      return suspicion(HangReport::Kind::kMissing, place);
    }
    if (static_cast<int>(waiting.size()) < table_.world_size() && !others_are_still(waiting))
      return std::nullopt;
    Place all = places.front();
    all.waiting = waiting;
    Suspicion found = suspicion(HangReport::Kind::kDeadlock, all);
    found.waits = std::move(waits);
    return found;
  }

  /// A rank that has not waited for the whole timeout may be held up by one that is only slow.
  bool somebody_waits(const Ranks& ranks) const {
    return std::ranges::any_of(ranks, [&](int rank) {
      const Rank* const known = table_.find(rank);
      return known != nullptr && waits(known->last);
    });
  }

  static std::vector<WaitingRanks> waits_of(const std::vector<Place>& places) {
    const auto list = [](const Ranks& ranks) { return std::vector(ranks.begin(), ranks.end()); };
    std::vector<WaitingRanks> waits;
    waits.reserve(places.size());
    for (const Place& place : places)
      waits.push_back({place.group, place.sequence, list(place.waiting), list(place.missing)});
    std::ranges::stable_sort(waits, std::ranges::greater{},
                             [](const WaitingRanks& wait) { return wait.waiting.size(); });
    return waits;
  }

  bool may_come_yet(const Place& place) const {
    return learned_ && std::ranges::any_of(place.missing, [&](int rank) {
             const Rank* const known = table_.find(rank);
             return known != nullptr && known->last.busy &&
                    stillness(*place.waiting.begin()) < kPatienceWithBusy * timeout_;
           });
  }

  bool others_are_still(const Ranks& waiting) const {
    for (int rank = 0; rank < table_.world_size(); ++rank)
      if (!waiting.contains(rank) && !still(rank)) return false;
    return true;
  }

  /// The groups in which nothing is done any more, although some wait for it.
  std::vector<Place> collectives() const {
    std::map<std::string, Place> places;
    for (const auto& [rank, known] : table_.ranks())
      for (const GroupProgress& group : known.last.groups) {
        if (!waits_in(known.last, group)) continue;
        Place& place = places[group.group];
        // torch counts from -1 on a group that has done nothing yet.
        const auto next = std::max<std::int64_t>(group.completed, 0) + 1;
        place.sequence = place.waiting.empty() ? next : std::min(place.sequence, next);
        place.waiting.insert(rank);
      }
    std::vector<Place> stuck;
    for (auto& [name, place] : places) {
      place.group = name;
      place.missing = missing_in(place);
      if (all_still(place.waiting) && all_still(place.missing)) stuck.push_back(std::move(place));
    }
    return stuck;
  }

  /// Ranks that have not entered the collective for which others wait. A rank that has never been
  /// in a group may not belong to it, unless it is the group of all.
  Ranks missing_in(const Place& place) const {
    Ranks missing;
    for (int rank = 0; rank < table_.world_size(); ++rank) {
      if (place.waiting.contains(rank)) continue;
      const auto entered = table_.entered(rank, place.group);
      const bool belongs = entered || place.group == kGroupOfAllRanks;
      if (belongs && entered.value_or(0) < place.sequence) missing.insert(rank);
    }
    return missing;
  }

  /// A rank that waits in the store waits for one that does not.
  std::optional<Place> store() const {
    Place place;
    for (const auto& [rank, known] : table_.ranks())
      if (waits_in_store(known.last)) place.waiting.insert(rank);
    if (place.waiting.empty() || !all_still(place.waiting)) return std::nullopt;
    for (int rank = 0; rank < table_.world_size(); ++rank) {
      const Rank* const known = table_.find(rank);
      if (known != nullptr && waits(known->last)) continue;
      if (!stuck_at_start(rank)) return std::nullopt;
      place.missing.insert(rank);
    }
    return place;
  }

  /// No rank waits for another, and still nothing is done. That needs workers that are seen to
  /// sleep. A worker that computes may do so for long without a report: it counts only if the user
  /// has set a time, and if it has reported progress before.
  std::optional<Suspicion> nobody_goes_on() const {
    Place place;
    int ended = 0;
    for (int rank = 0; rank < table_.world_size(); ++rank) {
      const Rank* const known = table_.find(rank);
      if (known == nullptr) continue;
      if (known->last.ended) ++ended;
      if (known->last.ended || !still(rank)) continue;
      const bool told = known->last.watched || known->last.step >= 0;
      const bool stopped = known->moved && (known->last.busy || known->last.step >= 0);
      if (told && (known->last.idle || (stopped && !learned_))) place.missing.insert(rank);
    }
    if (place.missing.empty()) return std::nullopt;
    const bool heartbeats_stop = !only_collectives(place.missing);
    if (!heartbeats_stop && static_cast<int>(place.missing.size()) + ended < table_.world_size())
      return std::nullopt;
    return suspicion(HangReport::Kind::kNoProgress, place);
  }

  /// Whether none of them tells its steps. Then only all of them together tell something: while one
  /// computes, the others may have nothing to do.
  bool only_collectives(const Ranks& ranks) const {
    return std::ranges::none_of(ranks, [&](int rank) { return table_.find(rank)->last.step >= 0; });
  }

  Suspicion suspicion(HangReport::Kind kind, const Place& place) const {
    Suspicion out{kind, place.group, place.sequence, {}, {}, milliseconds::max()};
    for (const Ranks* ranks : {&place.missing, &place.waiting})
      for (const int rank : *ranks) out.silent = std::min(out.silent, stillness(rank));
    out.missing.assign(place.missing.begin(), place.missing.end());
    out.waiting.assign(place.waiting.begin(), place.waiting.end());
    return out;
  }

  const ProgressTable& table_;
  const milliseconds timeout_;
  const bool learned_;
  const TimePoint now_;
};

}  // namespace

std::optional<HangPatience> hang_patience(milliseconds said, const ProgressTable& table) {
  if (said == kHangTimeoutOff) return std::nullopt;
  if (said != kHangTimeoutAuto) return HangPatience{said, false};
  return HangPatience{std::max(kLearnedTimeoutMin, kPausesPerTimeout * table.longest_pause()),
                      true};
}

std::optional<Suspicion> suspect(const ProgressTable& table, HangPatience patience, TimePoint now) {
  return Suspecting{table, patience, now}.result();
}

bool is_over(const Suspicion& suspicion, const ProgressTable& table, TimePoint then) {
  const auto went_on = [&](int rank) {
    const Rank* const known = table.find(rank);
    return known != nullptr && known->since > then;
  };
  if (suspicion.waiting.empty()) return std::ranges::any_of(suspicion.missing, went_on);
  return std::ranges::any_of(suspicion.waiting, went_on);
}

}  // namespace ddprun
