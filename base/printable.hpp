// printable(): makes bytes from a peer safe and short enough for a line of the log.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace ddprun {

/// Returns `bytes` in single quotes. A byte that is not printable ASCII becomes \xNN; after 64
/// bytes the rest is cut and "…" stands for it.
inline std::string printable(std::string_view bytes) {
  constexpr std::size_t kShown = 64;
  std::string text = "'";
  for (const char c : bytes.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[5];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    text += plain ? std::string(1, c) : std::string(escaped);
  }
  text += bytes.size() > kShown ? "…'" : "'";
  return text;
}

}  // namespace ddprun
