#include "base/numbers.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ddprun {

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const std::string_view line = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  auto cpus = parse_number_list(line, kCpusMax - 1);
  if (cpus) return cpus;
  return invalid("'" + std::string{text} + "' is not a list of CPUs such as 0-3,8");
}

Result<std::vector<int>> parse_number_list(std::string_view text, int most) {
  const Error nonsense =
      invalid("'" + std::string{text} + "' is not a list of numbers such as 0-3,8");
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > most) return nonsense;
    cpus.resize(cpus.size() + static_cast<std::size_t>(*last - *first + 1));
    std::iota(cpus.end() - (*last - *first + 1), cpus.end(), *first);
    if (range.size() + 1 == text.size()) return nonsense;  // a comma, and nothing after it
    text.remove_prefix(std::min(text.size(), range.size() + 1));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_number_list(const std::vector<int>& cpus) {
  std::string text;
  for (auto first = cpus.begin(); first != cpus.end();) {
    const auto gap = std::adjacent_find(first, cpus.end(), [](int a, int b) { return b != a + 1; });
    const auto last = gap == cpus.end() ? cpus.end() - 1 : gap;
    if (!text.empty()) text += ',';
    text += std::to_string(*first);
    if (last != first) text += '-' + std::to_string(*last);
    first = last + 1;
  }
  return text;
}

namespace {

constexpr int kRanksMax = 1'000'000;  // far more than there are

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

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
