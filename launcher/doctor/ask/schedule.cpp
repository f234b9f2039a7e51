#include "launcher/doctor/ask/schedule.hpp"

#include <algorithm>

namespace ddprun {

namespace {

HostPair pair_of(std::size_t a, std::size_t b) { return {std::min(a, b), std::max(a, b)}; }

/// In round r of a circle of m hosts those meet whose numbers add up to r, modulo m. One host is
/// its own partner: it meets host m where there is one.
Round round_of_circle(std::size_t hosts, std::size_t circle, std::size_t round) {
  Round pairs;
  for (std::size_t a = 0; a < circle; ++a) {
    const std::size_t partner = (round + circle - a) % circle;
    if (a == partner && circle < hosts)
      pairs.push_back(pair_of(a, circle));
    else if (a < partner)
      pairs.push_back({a, partner});
  }
  return pairs;
}

/// Puts an entry into the first group in which nothing is in its way, or else into a new one.
template <typename Entry, typename InTheWay>
void put(const Entry& entry, std::vector<std::vector<Entry>>& groups, const InTheWay& in_the_way) {
  const auto free = std::ranges::find_if(groups, [&](const std::vector<Entry>& group) {
    return std::ranges::none_of(group, in_the_way);
  });
  if (free != groups.end())
    free->push_back(entry);
  else
    groups.push_back({entry});
}

}  // namespace

std::vector<Round> meeting_rounds(std::size_t hosts, std::size_t rounds_max) {
  if (hosts < 2) return {};
  const std::size_t circle = hosts % 2 == 0 ? hosts - 1 : hosts;
  std::vector<Round> result;
  const std::size_t count = std::min(circle, rounds_max);
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(round_of_circle(hosts, circle, i * circle / count));
  return result;
}

std::vector<Round> rounds_of(const std::vector<HostPair>& pairs) {
  std::vector<Round> rounds;
  for (const HostPair& pair : pairs)
    put(pair, rounds, [&pair](const HostPair& other) {
      return other.first == pair.first || other.first == pair.second ||
             other.second == pair.first || other.second == pair.second;
    });
  return rounds;
}

std::vector<std::vector<std::size_t>> waves_of(const std::vector<std::size_t>& hosts,
                                               const std::vector<std::string>& machines) {
  std::vector<std::vector<std::size_t>> waves;
  for (const std::size_t host : hosts)
    put(host, waves, [&](std::size_t other) { return machines[other] == machines[host]; });
  return waves;
}

}  // namespace ddprun
