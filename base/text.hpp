// Texts: cut where they are too long, split, trimmed, and made safe for a terminal and for a
// line of the log. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

// Where the characters of a text in UTF-8 (RFC 3629) begin and end, so that a text is not cut
// inside one.
//
// Bytes that are no UTF-8 may all look like parts of characters. No character has more than four
// bytes, so the place that is returned is never further than three from the one that was asked for.

/// Whether the byte goes on with a character that an earlier one has begun.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// Returns `at`, or the place before it where the character begins that a cut there would divide.
inline std::size_t begin_of_character(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && begin < text.size() && at - begin < 3 && continues_character(text[begin]))
    --begin;
  return begin;
}

/// Returns `at`, or the place behind it where the character ends that a cut there would divide.
inline std::size_t end_of_character(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at < 3 && continues_character(text[end])) ++end;
  return end;
}

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

/// Returns `text` without the characters of `blanks` at its beginning and its end. It is a part of
/// `text`, which must live as long.
inline std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Returns the lines without their ends. The last one may have no end.
std::vector<std::string> split_lines(const std::string& text);

// Makes bytes from peers, workers and files safe for a terminal and for a line of the log. What a
// terminal takes for an order (https://en.wikipedia.org/wiki/ANSI_escape_code) begins with a
// control character, so none of these is ever printed.

/// Returns `bytes` in single quotes. A byte that is not printable ASCII becomes \xNN; after 64
/// bytes the rest is cut and "…" stands for it.
std::string printable(std::string_view bytes);

/// Returns `text` as one line. Tabs and UTF-8 stay as they are. Every byte of another control
/// character (also of those from U+0080 to U+009F), and every byte that is no UTF-8, becomes \xNN.
/// What was made so once stays as it is.
std::string plain_line(std::string_view text);

/// Does so for a text of several lines: newlines stay, too.
std::string plain_text(std::string_view text);

}  // namespace ddprun
