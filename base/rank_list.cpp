#include "base/rank_list.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/number_list.hpp"

namespace ddprun {

namespace {

constexpr int kRanksMax = 1'000'000;  // far more than there are

}  // namespace

RankList ranks_from(int first, int count) {
  RankList ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

RankList ranks_in(std::string_view text) {
  while (!text.empty()) {
    if (auto ranks = parse_number_list(text, kRanksMax)) return std::move(*ranks);
    const std::size_t comma = text.rfind(',');
    text = text.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  return {};
}

bool has_rank(const RankList& ranks, int rank) { return std::ranges::binary_search(ranks, rank); }

bool share_a_rank(const RankList& some, const RankList& others) {
  return std::ranges::any_of(some, [&](int rank) { return has_rank(others, rank); });
}

RankList united(const RankList& some, const RankList& others) {
  RankList out;
  std::ranges::set_union(some, others, std::back_inserter(out));
  return out;
}

RankList without(const RankList& some, const RankList& others) {
  RankList out;
  std::ranges::set_difference(some, others, std::back_inserter(out));
  return out;
}

std::string united(const std::string& some, const std::string& others) {
  return format_number_list(united(ranks_in(some), ranks_in(others)));
}

bool are_many(std::string_view ranks) {
  return ranks.find_first_of(",-") != std::string_view::npos;
}

std::string ranks_text(const std::string& ranks) {
  return (are_many(ranks) ? "ranks " : "rank ") + ranks;
}

}  // namespace ddprun
