// Reads a traceback that the Python package rich has drawn into a box:
//
//   ╭──────────── Traceback (most recent call last) ────────────╮
//   │ /home/me/train.py:88 in main                              │
//   │ ❱ 88     batch = data["x"]                                │
//   ╰────────────────────────────────────────────────────────────╯
//   KeyError: 'x'
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rendezvous/verdict/crash.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

/// Whether a line with the words "Traceback (most recent call last)" is the upper edge of a box.
bool is_rich_header(std::string_view line);

/// Reads the box whose upper edge is the line `at`, and what follows it; `at` is behind that
/// afterwards. nullopt when it is none.
std::optional<Raised> read_rich_traceback(const std::vector<TextLine>& lines, std::size_t& at);

}  // namespace ddprun
