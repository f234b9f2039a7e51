#include "rendezvous/rounds/electorate.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr RoundName kFirst{1, 1};
constexpr RoundName kSecond{1, 2};

Standing in(const KnownRound& started, const KnownRound& settled = {}) {
  return {.epoch = 1, .promised = 1, .started = started, .settled = settled};
}

/// Whether these elect somebody.
bool elect(const std::vector<Standing>& voters) {
  Electorate electorate;
  for (const Standing& voter : voters) electorate.hear(voter);
  Votes votes;
  for (const Standing& voter : voters) electorate.count(votes, voter);
  return electorate.elects(votes);
}

TEST_CASE("more than half of the nodes of the last round elect, and half of them do not") {
  const Standing voter = in({kFirst, 4, true});
  CHECK_FALSE(elect({voter, voter}));
  CHECK(elect({voter, voter, voter}));
}

TEST_CASE("nobody is elected where no round was begun") {
  CHECK_FALSE(elect({}));
  CHECK_FALSE(elect({in({}), in({})}));
}

TEST_CASE("a node that waited beside the round has no vote in it") {
  const Standing spare = in({kFirst, 3, false});
  CHECK_FALSE(elect({in({kFirst, 3, true}), spare, spare, spare}));
}

TEST_CASE("a round that has not settled needs the majority of the one before, too") {
  const KnownRound first{kFirst, 5, true};
  const Standing stayed = in({kSecond, 3, true}, first);
  const Standing fresh = in({kSecond, 3, true}, {kFirst, 5, false});
  const Standing lost = in(first, first);
  CHECK_FALSE(elect({stayed, fresh, fresh}));  // one of five
  CHECK_FALSE(elect({lost, lost, stayed}));    // one of three
  CHECK(elect({stayed, stayed, lost}));
}

TEST_CASE("once a round has settled, its nodes alone decide") {
  const Standing stayed = in({kSecond, 3, true}, {kSecond, 3, true});
  const Standing unsettled = in({kSecond, 3, true}, {kFirst, 5, true});
  CHECK(elect({stayed, unsettled}));
}

TEST_CASE("a coordinator keeps the job with half of the nodes, for nobody else can have more") {
  Electorate electorate;
  electorate.hear(in({kFirst, 4, true}, {kFirst, 4, true}));
  CHECK(electorate.keeps({.settled = 2}));
  CHECK_FALSE(electorate.keeps({.settled = 1}));
}

TEST_CASE("until the first round has settled, half of its nodes keep it") {
  Electorate electorate;
  electorate.hear(in({kFirst, 3, true}));
  CHECK(electorate.keeps({.started = 2}));
  CHECK_FALSE(electorate.keeps({.started = 1}));
}

TEST_CASE("a round of a later coordinator is a later round, whatever its number") {
  Electorate electorate;
  electorate.hear(in({{1, 9}, 5, true}));
  electorate.hear(in({{2, 3}, 3, true}));
  CHECK(electorate.started.name == RoundName{2, 3});
}

TEST_CASE("what is missing of a round is what has not voted, of either round") {
  Electorate electorate;
  electorate.hear(in({kSecond, 3, true}, {kFirst, 5, true}));
  CHECK(electorate.missing({.settled = 3, .started = 2}) == 2);
  CHECK(electorate.missing({.settled = 5, .started = 2}) == 1);
}

}  // namespace
}  // namespace ddprun
