// Reads a traceback that a program has logged inside a string of JSON, where the ends of its lines
// are escapes (RFC 8259, section 7):
//
//   {"level": "ERROR", "exc_info": "Traceback (most recent call last):\n  File \"/t.py\", line 4
//   ..."}
//
// Of a line that was cut it reads what is there. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

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

}  // namespace ddprun
