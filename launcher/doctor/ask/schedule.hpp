// Which hosts measure the way between them, and when. Pure.
//
// Within a round no host is in two pairs, so that no measurement disturbs another one.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {

using HostPair = std::pair<std::size_t, std::size_t>;  // the lower one first
using Round = std::vector<HostPair>;

/// This many rounds cover all pairs of 16 hosts.
inline constexpr std::size_t kLinkRoundsMax = 15;

/// Returns rounds in which hosts 0 to `hosts` - 1 meet, by the circle method: host m stands still,
/// the others turn around it. For up to kLinkRoundsMax + 1 hosts each two of them meet once. Of
/// more hosts each meets as many different others as there are rounds, or one less, and these
/// rounds are spread evenly over all.
std::vector<Round> meeting_rounds(std::size_t hosts, std::size_t rounds_max = kLinkRoundsMax);

/// Puts pairs into rounds, each into the first one that has none of its hosts yet.
std::vector<Round> rounds_of(const std::vector<HostPair>& pairs);

/// Puts hosts into waves of which each has at most one host of each machine: those that share one
/// would take the CPUs from each other. `machines[i]` is the machine of host i.
std::vector<std::vector<std::size_t>> waves_of(const std::vector<std::size_t>& hosts,
                                               const std::vector<std::string>& machines);

}  // namespace ddprun
