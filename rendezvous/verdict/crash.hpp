// Crash: what a worker wrote when it came to an end, as the parsers of this folder understand it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

struct Frame {
  std::string function;
  std::string file;
  int line = 0;
  bool operator==(const Frame&) const = default;
};

/// One fault with its stack. In Python an exception may be raised while another one is dealt with:
/// each of them is one, the first that was raised first.
struct Raised {
  Fault fault;
  std::vector<Frame> frames;  // the innermost first
};

struct Crash {
  enum class Source {
    kPython,    // an uncaught exception, or one that was printed
    kAside,     // a crash of a thread or a child process, which does not end the worker by itself
    kNative,    // a C++ exception, a failed assertion, a sanitizer's report, a fatal signal
    kWatchdog,  // the program's own watchdog has ended it where it was
  };
  Source source = Source::kPython;
  bool thrown = false;         // native: an exception or the like, and not a signal alone
  bool uncaught = false;       // torch has marked it ("[rank0]: "), as it marks no other
  bool logged = false;         // a logger wrote it, so the program may have gone on
  std::vector<Raised> raised;  // at least one
  std::size_t begin = 0;       // offset of its first line
  std::string behind;          // some lines that follow: the last message's, or another's
};

/// Parses a whole number at the beginning of `text`; 0 when there is none, or one beyond int.
int leading_number(std::string_view text);

/// Whether a file belongs to Python itself or to an installed package, and not to the user.
bool is_library_file(std::string_view file);

/// The innermost frame in the user's own code, else that in the package which called all others,
/// else the innermost one; nullptr without frames.
const Frame* user_frame(const std::vector<Frame>& frames);

/// Puts place and function of the user's frame into the fault of `raised`, unless it has a place.
void place(Raised& raised);

/// "FUNCTION<tab>FILE<tab>LINE" lines, at most `bytes_max` bytes of whole lines.
std::string stack_text(const std::vector<Frame>& frames, std::size_t bytes_max);

/// Reads what stack_text() has written. A line that was cut, or is no frame, is one by its first
/// words alone.
std::vector<Frame> parse_stack_text(std::string_view text);

/// A frame for people: "load_batch  /me/train.py:12".
std::string frame_text(const Frame& frame);

}  // namespace ddprun
