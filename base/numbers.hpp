// Reads numbers and lists of numbers, writes lists, and finds a median. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// Returns the number that `text` spells in decimal; nullopt when it is empty, does not fit into
/// `Number`, or has anything before or behind the number (a space, a '+', a unit).
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline constexpr int kCpusMax = 8192;  // the kernel's own limit (CONFIG_NR_CPUS)

/// Reads the kernel's "0-3,8,10-11" into ascending CPU numbers; an empty text is an empty list, and
/// a newline may follow. Errors: kInvalid for anything else, and for numbers from kCpusMax on.
/// Format: https://docs.kernel.org/admin-guide/cputopology.html
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// Reads such a list of numbers that are at most `most`. Errors: kInvalid.
Result<std::vector<int>> parse_number_list(std::string_view text, int most);

/// The other way round: ascending numbers, each once, to "0-3,8,10-11".
std::string format_number_list(const std::vector<int>& numbers);

/// Returns the median, and of two in the middle the larger one; 0 when there is none.
double median(std::vector<double> values);

/// Ranks, ascending, each once.
using RankList = std::vector<int>;

/// `count` ranks, from `first` on.
RankList ranks_from(int first, int count);

/// The ranks that can be read in a text from a peer, which may be cut, or be no list at all.
RankList ranks_in(std::string_view text);

bool has_rank(const RankList& ranks, int rank);
bool share_a_rank(const RankList& some, const RankList& others);
RankList united(const RankList& some, const RankList& others);
RankList without(const RankList& some, const RankList& others);
/// The union of two lists as texts.
std::string united(const std::string& some, const std::string& others);

/// Whether the text names more than one rank.
bool are_many(std::string_view ranks);
/// "rank 1", "ranks 0-3".
std::string ranks_text(const std::string& ranks);

}  // namespace ddprun
