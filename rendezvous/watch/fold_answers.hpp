// What many nodes answer about their workers, put together: workers that do the same are in one
// group. Pure.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/wire/hang_report.hpp"

namespace ddprun {

/// Ranks, ascending, each once.
using RankList = std::vector<int>;

/// The ranks in "0,2-5"; a text that is no such list has none.
RankList ranks_in_list(const std::string& text);
bool has_rank(const RankList& ranks, int rank);
bool share_a_rank(const RankList& a, const RankList& b);
RankList united(const RankList& a, const RankList& b);
RankList without(const RankList& a, const RankList& b);

struct FoldedStacks {
  StackGroup group;
  RankList ranks;
  bool missing = false;
};

/// Workers of whom the same is said become one group. Those with a rank of `missing` come first,
/// then those of few ranks, because they are the odd ones.
std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing);

}  // namespace ddprun
