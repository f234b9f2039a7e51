#include "launcher/doctor/bench/schedule.hpp"

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

bool has_host(const Round& round, std::size_t host) {
  return std::ranges::any_of(
      round, [host](const HostPair& pair) { return pair.first == host || pair.second == host; });
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
  for (const HostPair& pair : pairs) {
    const auto free = std::ranges::find_if(rounds, [&](const Round& round) {
      return !has_host(round, pair.first) && !has_host(round, pair.second);
    });
    if (free != rounds.end())
      free->push_back(pair);
    else
      rounds.push_back({pair});
  }
  return rounds;
}

}  // namespace ddprun
