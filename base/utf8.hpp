// Where the characters of a text in UTF-8 (RFC 3629) begin and end, so that a text is not cut
// inside one.
//
// Bytes that are no UTF-8 may all look like parts of characters. No character has more than four
// bytes, so the place that is returned is never further than three from the one that was asked for.
#pragma once

#include <cstddef>
#include <string_view>

namespace ddprun {

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

}  // namespace ddprun
