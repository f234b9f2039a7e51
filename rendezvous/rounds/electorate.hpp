// Electorate: whose votes decide who coordinates a job. Pure.
//
// A coordinator that is lost is followed by one for whom the majority of the last round has voted.
// Not everybody may have heard of that round when its coordinator is lost, and those who have not
// would count the votes of another one. So a round is the electorate only when it has settled: when
// all its nodes, and those of the electorate before it that are left, know of it. As long as it has
// not, a successor needs the majority of both. That is too much when few have heard of it. But when
// one of those who have to know of it has voted, and does not, it never settles: whoever has voted
// obeys its coordinator no more. Then the settled round's majority is enough. The first round of a
// job counts as settled from its beginning, because nobody could vote by another one.
#pragma once

#include <vector>

#include "rendezvous/wire/standing.hpp"

namespace ddprun {

/// How many nodes of the two rounds are on somebody's side.
struct Votes {
  int settled = 0;
  int started = 0;
  int unaware = 0;  // without whom the second one does not settle: they know nothing of it
  bool operator==(const Votes&) const = default;
};

struct Electorate {
  KnownRound settled;  // `member` is not used; no name: no round was begun yet
  KnownRound started;  // the last one that was begun; perhaps the same

  bool operator==(const Electorate&) const = default;

  RoundName never_settles = {};   // rounds up to this one do not, if they have not
  std::vector<int> awaited = {};  // who has to know of `started`: ranks in `settled`, ascending

  /// Takes what `voter` knows into account.
  void hear(const Standing& voter);

  /// Whether there is a round, so that there is somebody to be asked.
  bool exists() const { return settled.nodes > 0; }

  void count(Votes& votes, const Standing& voter) const;

  /// With the promises of more than half of the settled round, one of whom has to know of the last
  /// one first and never will: it is as if that had not been begun.
  void forget_started();

  /// More than half of each: nobody else can have as many.
  bool elects(const Votes& votes) const;

  /// How many of a round are missing among `votes`, at most.
  int missing(const Votes& votes) const;

  /// Whether the last round that was begun has not settled, and another one has.
  bool has_two() const { return started.name > settled.name; }
};

/// So many of a round's nodes elect: more than half, and nobody else can have as many.
constexpr int votes_to_win(int nodes) { return nodes / 2 + 1; }
/// So many keep a coordinator: half of them, and nobody else can have enough to win.
constexpr int votes_to_stay(int nodes) { return (nodes + 1) / 2; }

/// Whether the agent has heard of a round of its job.
bool knows_a_round(const Standing& agent);
/// Whether the agent is one of the nodes of that round.
bool is_member(const Standing& agent, const RoundName& round);
/// Its rank there; -1: it is none of them, or has not told.
int rank_in(const Standing& agent, const RoundName& round);

}  // namespace ddprun
