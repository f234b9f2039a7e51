// What a worker writes, in bounded memory: the last of it, for the failure report and to find
// out what it ended with, and what comes from now on, for somebody who follows it. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/verdict/stream_end.hpp"

namespace ddprun {

/// OutputTail: the last lines of a stream, in bounded memory, for the failure report.
class OutputTail {
 public:
  static constexpr std::size_t kLinesMax = 20;
  static constexpr std::size_t kLineBytesMax = 1000;  // the rest of a longer line is dropped

  /// Takes more of the stream; a piece may end anywhere in a line.
  void append(std::string_view bytes);

  /// The last lines, oldest first, the unfinished one last, control characters replaced by '?'.
  /// What a carriage return has overwritten (a progress bar) is left out, as on a terminal.
  std::vector<std::string> lines() const;

 private:
  std::deque<std::string> finished_;
  std::string current_;
};

/// CrashTail: the last that a worker wrote to a stream, in bounded memory, and when the beginnings
/// of tracebacks and the like came. What they mean is for rendezvous/verdict.
///
/// The time matters: Python needs some 100 ms from the traceback to the end of its process, and
/// others fail meanwhile because of it.
class CrashTail {
 public:
  static constexpr std::size_t kBytesMax = 32 * 1024;
  /// The beginning of the last traceback stays, this many bytes of it, however long the message of
  /// its exception is: the type of the exception stands before the message.
  static constexpr std::size_t kHeadBytesMax = 8 * 1024;
  static constexpr std::size_t kMarksMax = 64;

  /// Takes more of the stream, which has come at `now`.
  void append(std::string_view bytes, TimePoint now);

  StreamEnd end() const;

 private:
  /// The beginning of the last crash, as far as it is no longer in text_.
  struct Head {
    std::size_t at = 0;  // in the whole stream
    TimePoint came;
    std::string text;
  };

  void append_piece(std::string_view bytes, TimePoint now);
  void note_marks(std::size_t from, TimePoint now);
  void note_opening(std::size_t from, TimePoint now);
  void drop(std::size_t count);

  struct Mark {
    std::size_t at = 0;  // in the whole stream
    TimePoint came;
  };
  std::string text_;
  std::size_t dropped_ = 0;  // bytes of the stream that were before text_
  std::deque<Mark> marks_;
  std::optional<Head> last_;  // the last crash; its text is what was dropped from text_
};

/// OutputFeed: what a worker writes from now on, for somebody who follows it and is slower at
/// times.
class OutputFeed {
 public:
  static constexpr std::size_t kBytesMax = 256 * 1024;

  /// Takes more. What does not fit is lost, and the reader gets a note.
  void append(std::string_view bytes) {
    if (bytes_.size() + bytes.size() <= kBytesMax)
      bytes_ += bytes;
    else
      lost_ = true;
  }

  /// Returns what has come since the last call.
  std::string take() {
    std::string bytes = std::exchange(bytes_, {});
    if (std::exchange(lost_, false)) bytes += "\n[some output is left out here]\n";
    return bytes;
  }

 private:
  std::string bytes_;
  bool lost_ = false;
};

}  // namespace ddprun
