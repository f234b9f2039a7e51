#include "rendezvous/watch/fold_answers.hpp"

#include <algorithm>
#include <tuple>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

auto what_it_does(const StackGroup& g) {
  return std::tie(g.held_up, g.doing, g.stack, g.operation, g.group, g.sequence, g.shapes);
}

}  // namespace

std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing) {
  std::vector<FoldedStacks> folded;
  for (const StackGroup& group : answers) {
    const RankList ranks = ranks_in(group.ranks);
    const bool is_missing = share_a_rank(ranks, missing);
    const auto same = std::ranges::find_if(folded, [&](const FoldedStacks& f) {
      return f.missing == is_missing && what_it_does(f.group) == what_it_does(group);
    });
    if (same == folded.end())
      folded.push_back({group, ranks, is_missing});
    else
      same->ranks = united(same->ranks, ranks);
  }
  for (FoldedStacks& each : folded) each.group.ranks = format_number_list(each.ranks);
  std::ranges::stable_sort(folded, [](const FoldedStacks& a, const FoldedStacks& b) {
    if (a.missing != b.missing) return a.missing;
    return a.ranks.size() < b.ranks.size();
  });
  return folded;
}

std::string named(const RankList& ranks) { return ranks_text(format_number_list(ranks)); }

}  // namespace ddprun
