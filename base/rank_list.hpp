// Sets of ranks: as ascending numbers, each once, and as texts such as "0,2-5". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

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
