// Texts that are not longer than they may be, in bytes or in columns of a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun {

/// How many bytes of a text are kept, and which of its ends.
struct TextLimit {
  enum class Keep { kBeginning, kEnd };
  std::size_t bytes = 0;
  Keep keep = Keep::kBeginning;
};

/// Returns `text` if it has at most `limit.bytes` bytes. Otherwise it returns the end of it that is
/// to be kept, with "…" where the rest was. No character of UTF-8 is cut in two.
std::string cut(std::string_view text, const TextLimit& limit);

/// How many columns a text takes where each character takes one, and a colour (ESC [ ... m) none.
std::size_t columns_of(std::string_view text);

/// Returns a text of at most `columns` columns; "…" stands for the rest, and colours end with it.
std::string cut_columns(std::string_view text, std::size_t columns);

/// Cuts each line of a text so. 0 columns: to any width.
std::string cut_lines(std::string_view text, int columns);

}  // namespace ddprun
