#include "launcher/doctor/ask/schedule.hpp"

#include <map>
#include <set>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// How often each pair meets. It fails when a host is in two pairs of one round.
std::map<HostPair, int> meetings(const std::vector<Round>& rounds, std::size_t hosts) {
  std::map<HostPair, int> met;
  for (const Round& round : rounds) {
    std::set<std::size_t> busy;
    for (const HostPair& pair : round) {
      CHECK(pair.first < pair.second);
      CHECK(pair.second < hosts);
      CHECK(busy.insert(pair.first).second);
      CHECK(busy.insert(pair.second).second);
      ++met[pair];
    }
  }
  return met;
}

TEST_CASE("up to 16 hosts meet each other once, in as few rounds as there can be") {
  for (std::size_t hosts = 2; hosts <= 16; ++hosts) {
    INFO(hosts << " hosts");
    const auto rounds = meeting_rounds(hosts);
    const auto met = meetings(rounds, hosts);
    CHECK(rounds.size() == (hosts % 2 == 0 ? hosts - 1 : hosts));
    CHECK(met.size() == hosts * (hosts - 1) / 2);
    for (const auto& [pair, times] : met) CHECK(times == 1);
  }
}

TEST_CASE("of more hosts each meets as many others as there are rounds, or one less") {
  for (const std::size_t hosts : {17U, 18U, 64U, 101U, 1000U}) {
    INFO(hosts << " hosts");
    const auto rounds = meeting_rounds(hosts);
    CHECK(rounds.size() == kLinkRoundsMax);
    std::map<std::size_t, std::size_t> partners;
    for (const auto& [pair, times] : meetings(rounds, hosts)) {
      CHECK(times == 1);
      ++partners[pair.first];
      ++partners[pair.second];
    }
    CHECK(partners.size() == hosts);
    for (const auto& [host, count] : partners) {
      CHECK(count >= kLinkRoundsMax - 1);
      CHECK(count <= kLinkRoundsMax);
    }
  }
}

TEST_CASE("hosts meet both neighbors and hosts far away in the list") {
  std::size_t near = 0, far = 0;
  for (const auto& [pair, times] : meetings(meeting_rounds(64), 64)) {
    if (pair.first != 0) continue;
    if (pair.second - pair.first < 16) ++near;
    if (pair.second - pair.first > 32) ++far;
  }
  CHECK(near > 0);
  CHECK(far > 0);
}

TEST_CASE("one host alone meets nobody") {
  CHECK(meeting_rounds(0).empty());
  CHECK(meeting_rounds(1).empty());
}

TEST_CASE("pairs that share a host are put into different rounds") {
  const std::vector<HostPair> pairs{{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 3}};
  CHECK(rounds_of(pairs) == std::vector<Round>{{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}, {{0, 3}}});
  CHECK(rounds_of({{0, 1}, {0, 2}, {3, 2}}) == std::vector<Round>{{{0, 1}, {3, 2}}, {{0, 2}}});
  CHECK(rounds_of({{0, 1}, {2, 1}}) == std::vector<Round>{{{0, 1}}, {{2, 1}}});
  CHECK(rounds_of({}).empty());
}

TEST_CASE("hosts of one machine take turns, and others go at the same time") {
  using Waves = std::vector<std::vector<std::size_t>>;
  const std::vector<std::string> machines{"a", "b", "a", "c", "a"};
  CHECK(waves_of({0, 1, 2, 3, 4}, machines) == Waves{{0, 1, 3}, {2}, {4}});
  CHECK(waves_of({2, 4}, machines) == Waves{{2}, {4}});
  CHECK(waves_of({}, machines).empty());
}

}  // namespace
}  // namespace ddprun
