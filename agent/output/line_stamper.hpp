// LineStamper: puts a time before each line of a stream. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

/// Writes a time as ISO 8601 has it, of the zone of this machine with its distance from UTC, and a
/// space: "2026-11-21T09:50:22.123+01:00 ". People read the time of their clock, and lines of
/// machines in other zones can still be sorted. Always 30 bytes until the year 9999, so that
/// `cut -b 31-` takes it away.
std::string time_stamp(std::int64_t unix_time_ms);

/// The time of a line is that of its first byte. A carriage return begins no line: what a progress
/// bar draws over itself is one line, up to its '\n'. Bytes are not changed otherwise.
class LineStamper {
 public:
  /// Takes more bytes, which were written at the time `stamp`, and returns them with it before each
  /// line that begins in them.
  std::string stamped(std::string_view bytes, std::string_view stamp);

 private:
  bool line_begins_ = true;
};

}  // namespace ddprun
