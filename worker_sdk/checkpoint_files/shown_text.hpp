// shown(): text of a file from outside, as it may stand in a message. It is here because the SDK
// links nothing of the launcher's. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun::sdk {

/// How many bytes of a library's complaint about a file a message tells.
inline constexpr std::size_t kProblemBytesMax = 300;

/// Returns the beginning of `text`, up to `most` bytes, with '?' for every byte that is not
/// printable ASCII: no order to a terminal is left in it. "…" stands for the rest.
inline std::string shown(std::string_view text, std::size_t most = 64) {
  std::string out{text.substr(0, most)};
  std::ranges::replace_if(
      out, [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text.size() > most ? out + "…" : out;
}

}  // namespace ddprun::sdk
