// Finds what C++ programs, the C library, sanitizers and Python's faulthandler write when a program
// crashes. Pure.
#pragma once

#include <optional>
#include <vector>

#include "rendezvous/verdict/python_traceback.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

/// All of them in their order, each as one that `find_tracebacks()` returns:
/// - `terminate called after throwing an instance of 'X'`, with `  what():  ...` below it;
/// - `prog: file.cpp:12: void f(): Assertion `x' failed.` of glibc;
/// - `==4711==ERROR: AddressSanitizer: heap-buffer-overflow on ...` with its stack;
/// - `Fatal Python error: Segmentation fault` of faulthandler with the stack of the thread
///   (https://docs.python.org/3/library/faulthandler.html);
/// - what glibc says of a broken heap or stack, a panic of Rust or Go, and a fatal line of glog.
/// What belongs to one crash, as a C++ exception and the Python stack below it, is one.
std::vector<Traceback> find_native_crashes(const std::vector<TextLine>& lines);

/// The last dump of faulthandler.dump_traceback_later(): "Timeout (0:00:05)!" and the stacks of all
/// threads. It ends the program, or the program goes on: the dump does not say which.
std::optional<Traceback> find_watchdog_dump(const std::vector<TextLine>& lines);

}  // namespace ddprun
