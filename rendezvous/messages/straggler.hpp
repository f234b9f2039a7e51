// Stragglers: ranks that come late to the collectives of their groups again and again, so that all
// others wait for them. What agents tell of arrivals, and what the coordinator makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/strain_rates.hpp"
#include "rendezvous/messages/progress.hpp"

namespace ddprun {

/// At most this many collectives of a group are reported at a time: the last ones.
inline constexpr std::size_t kGroupArrivalsMax = 128;

/// When a rank has entered the last collectives of one of its groups.
struct GroupArrivals {
  std::string group;       // its name, which is the same on all ranks
  std::int64_t first = 0;  // the number of the first of them; the others follow one by one
  std::int64_t at_us = 0;  // when that was, by a clock that all nodes' arrivals have in common
  std::vector<std::int64_t> pauses_us;  // from each to the next one
  bool operator==(const GroupArrivals&) const = default;
};

// --- agent to coordinator ---

/// When a worker has entered collectives. Agents look at the same moments, so that what the members
/// of a group tell has collectives in common.
struct Arrivals {
  int round = 0;
  int rank = 0;
  std::int64_t look = 0;                   // the moment at which agents looked: seconds since 1970
  std::vector<GroupArrivals> groups;       // at most kProgressGroupsMax
  std::optional<StrainRates> strain = {};  // since the look before
  bool operator==(const Arrivals&) const = default;
};

// --- coordinator to agent ---

/// Ranks for which the others wait.
struct Straggler {
  std::string ranks;         // "5", "4-7"
  std::string node;          // the host of the first of them
  double cost_percent = 0;   // a part of everybody's time
  std::int64_t late_us = 0;  // how late it comes, on average, in a step; 0: it slows collectives
  std::int64_t step_us =
      0;  // how long a step takes: from one wait of all for each other to the next
  std::int64_t lasts_ms = 0;  // how long it has been late
  std::string why;            // "its cgroup is throttled 43 % of the time"; "": it is not known
  std::string sentence;       // for people: one line
  bool operator==(const Straggler&) const = default;
};
/// "rank 5 (h2) makes the others wait 12 % of the time: it is 18 ms late in each step of 150 ms";
/// and in the past, "rank 5 (h2) made the others wait 12 % of the time". One that is not late:
/// "rank 5 (h2) slows the collectives, which costs all 40 % of the time". The cause follows.
std::string sentence_of(const Straggler& straggler);
std::string past_sentence_of(const Straggler& straggler);

/// The agent prints it.
struct StragglerFound {
  int round = 0;
  Straggler straggler;
  bool operator==(const StragglerFound&) const = default;
};
/// The ranks are as fast as the others again, or gone.
struct StragglerOver {
  int round = 0;
  std::string ranks;
  bool operator==(const StragglerOver&) const = default;
};

}  // namespace ddprun
