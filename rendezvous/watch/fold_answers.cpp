#include "rendezvous/watch/fold_answers.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/number_list.hpp"

namespace ddprun {

namespace {

auto what_it_does(const StackGroup& g) {
  return std::tie(g.held_up, g.doing, g.stack, g.operation, g.group, g.sequence, g.shapes);
}

}  // namespace

RankList ranks_in_list(const std::string& text) {
  auto ranks = parse_number_list(text, std::numeric_limits<int>::max() - 1);
  return ranks ? std::move(*ranks) : RankList{};
}

bool has_rank(const RankList& ranks, int rank) { return std::ranges::binary_search(ranks, rank); }

bool share_a_rank(const RankList& a, const RankList& b) {
  return std::ranges::any_of(a, [&](int rank) { return has_rank(b, rank); });
}

RankList united(const RankList& a, const RankList& b) {
  RankList out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}

RankList without(const RankList& a, const RankList& b) {
  RankList out;
  std::ranges::set_difference(a, b, std::back_inserter(out));
  return out;
}

std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing) {
  std::vector<FoldedStacks> folded;
  for (const StackGroup& group : answers) {
    const RankList ranks = ranks_in_list(group.ranks);
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

}  // namespace ddprun
