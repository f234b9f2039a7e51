// What many nodes answer about their workers, put together: workers that do the same are in one
// group. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "rendezvous/messages/hang_report.hpp"

namespace ddprun {

struct FoldedStacks {
  StackGroup group;
  RankList ranks;
  bool missing = false;
};

/// Workers in the same state become one group. Those with a rank of `missing` come first, then
/// small groups, because these are the exceptions.
std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing);

/// "rank 1", "ranks 0-3".
std::string named(const RankList& ranks);

}  // namespace ddprun
