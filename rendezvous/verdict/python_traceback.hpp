// Finds tracebacks of Python in what a worker wrote. Pure.
//
// The format is that of Python's traceback module
// (https://docs.python.org/3/library/traceback.html): with chained exceptions, exception groups and
// syntax errors. Tracebacks that torch, loggers and others have put words in front of, line by
// line, are understood, and so are those that the package rich draws into a box.
#pragma once

#include <vector>

#include "rendezvous/verdict/crash.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

/// All of them that may have ended the program, in their order. Those that Python prints of
/// exceptions that it goes on from ("Exception ignored in") are left out. `end` is the index of the
/// line behind each.
struct Traceback {
  Crash crash;
  std::size_t end = 0;
};
std::vector<Traceback> find_tracebacks(const std::vector<TextLine>& lines);

}  // namespace ddprun
