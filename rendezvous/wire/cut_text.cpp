#include "rendezvous/wire/cut_text.hpp"

#include <algorithm>

namespace ddprun {

namespace {

constexpr std::string_view kCut = "…";
constexpr std::size_t kContinuationsMax = 3;  // of one character

/// Whether the byte goes on with a character of UTF-8 that an earlier one has begun.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

/// Bytes that are no UTF-8 may all look like continuations; not more of them than a character has
/// are given up.
std::size_t begin_of_character(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && at - begin < kContinuationsMax && continues(text[begin])) --begin;
  return begin;
}

std::size_t end_of_character(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at < kContinuationsMax && continues(text[end])) ++end;
  return end;
}

}  // namespace

std::string cut(std::string_view text, const TextLimit& limit) {
  if (text.size() <= limit.bytes) return std::string{text};
  const std::size_t kept = limit.bytes - std::min(limit.bytes, kCut.size());
  if (limit.keep == TextLimit::Keep::kBeginning)
    return std::string{text.substr(0, begin_of_character(text, kept))}.append(kCut);
  return std::string{kCut}.append(text.substr(end_of_character(text, text.size() - kept)));
}

}  // namespace ddprun
