// What is done to lines before they are shown: they are cut into pieces, get a time and a
// prefix, or are left out. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Holds back what comes after the last end of a line ('\n', or '\r' as of progress bars), so that
/// lines of different workers do not run into each other; never more than kHeldBytesMax of it.
class LineBuffer {
 public:
  static constexpr std::size_t kHeldBytesMax = 64 * 1024;

  /// Takes more bytes, and returns those that may be passed on now.
  std::string feed(std::string_view bytes);

  /// Returns the unfinished line, which is a prompt or the last words of a worker, and forgets it.
  std::string take_rest();

  bool empty() const { return held_.empty(); }

 private:
  std::string held_;
};

/// Writes a time as ISO 8601 has it, of the zone of this machine with its distance from UTC, and a
/// space: "2026-11-21T09:50:22.123+01:00 ". People read the time of their clock, and lines of
/// machines in other zones can still be sorted. Always 30 bytes until the year 9999, so that
/// `cut -b 31-` takes it away.
std::string time_stamp(std::int64_t unix_time_ms);

/// LineStamper puts a time before each line of a stream, which is that of the line's first byte. A
/// carriage return begins no line: what a progress bar draws over itself is one line, up to its
/// '\n'. Bytes are not changed otherwise.
class LineStamper {
 public:
  /// Takes more bytes, which were written at the time `stamp`, and returns them with it before each
  /// line that begins in them.
  std::string stamped(std::string_view bytes, std::string_view stamp);

 private:
  bool line_begins_ = true;
};

/// A line and what ends it: "\n", "\r\n", the "\r" of a progress bar, or "" at the end of the text.
struct LinePiece {
  std::string_view text;
  std::string_view end;
};

/// Returns the first line of `text`, which is not empty.
LinePiece first_line(std::string_view text);

/// `text` with `prefix` before each of its lines; after a carriage return the line begins again.
/// `line_start`: whether its first byte begins a line.
std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start);

/// The lines of `text` that contain one of `filters`, each behind `prefix` and ended.
std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters);

}  // namespace ddprun
