// CrashTail: the last that a worker wrote to a stream, in bounded memory, and when the beginnings
// of tracebacks and the like came. What they mean is for rendezvous/verdict. Pure.
//
// The time matters: Python needs some 100 ms from the traceback to the end of its process, and
// others fail meanwhile because of it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "rendezvous/verdict/stream_end.hpp"

namespace ddprun {

class CrashTail {
 public:
  static constexpr std::size_t kBytesMax = 32 * 1024;
  static constexpr std::size_t kMarksMax = 64;

  /// Takes more of the stream, which has come at `now`.
  void append(std::string_view bytes, TimePoint now);

  StreamEnd end() const;

 private:
  void note_marks(std::size_t from, TimePoint now);

  struct Mark {
    std::size_t at = 0;  // in the whole stream
    TimePoint came;
  };
  std::string text_;
  std::size_t dropped_ = 0;  // bytes of the stream that were before text_
  std::deque<Mark> marks_;
};

}  // namespace ddprun
