// Tracebacks that something else is wrapped around: a string of JSON, or a box. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/verdict/crash.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

// Reads a traceback that a program has logged inside a string of JSON, where the ends of its lines
// are escapes (RFC 8259, section 7):
//
//   {"level": "ERROR", "exc_info": "Traceback (most recent call last):\n  File \"/t.py\", line 4
//   ..."}
//
// Of a line that was cut it reads what is there.

/// A line that a string stands for, and where it begins in the text.
struct StringLine {
  std::string text;
  std::size_t offset = 0;
};

/// Where in the line the string begins, behind its quotation mark, that has a traceback; npos: none
/// has. A line that begins in the middle of such a string begins there.
std::size_t begin_of_logged_traceback(std::string_view line);

/// The lines that a string stands for; `text` goes on behind the string's end, perhaps.
std::vector<StringLine> lines_of_string(std::string_view text);

// Reads a traceback that the Python package rich has drawn into a box:
//
//   ╭──────────── Traceback (most recent call last) ────────────╮
//   │ /home/me/train.py:88 in main                              │
//   │ ❱ 88     batch = data["x"]                                │
//   ╰────────────────────────────────────────────────────────────╯
//   KeyError: 'x'

/// Whether a line with the words "Traceback (most recent call last)" is the upper edge of a box.
bool is_rich_header(std::string_view line);

/// Reads the box whose upper edge is the line `at`, and what follows it; `at` is behind that
/// afterwards. nullopt when it is none.
std::optional<Raised> read_rich_traceback(const std::vector<TextLine>& lines, std::size_t& at);

}  // namespace ddprun
