#include "rendezvous/wire/cut_text.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kCut = "…";

}  // namespace

std::string cut(std::string_view text, const TextLimit& limit) {
  if (text.size() <= limit.bytes) return std::string{text};
  const std::size_t kept = limit.bytes - std::min(limit.bytes, kCut.size());
  if (limit.keep == TextLimit::Keep::kBeginning)
    return std::string{text.substr(0, begin_of_character(text, kept))}.append(kCut);
  return std::string{kCut}.append(text.substr(end_of_character(text, text.size() - kept)));
}

}  // namespace ddprun
