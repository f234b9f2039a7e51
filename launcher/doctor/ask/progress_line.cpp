#include "launcher/doctor/ask/progress_line.hpp"

#include <unistd.h>

namespace ddprun {

namespace {

constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine() : on_terminal_{::isatty(STDERR_FILENO) == 1} {}

ProgressLine::~ProgressLine() {
  if (shown_) write(kClearLine);
}

void ProgressLine::show(const std::string& what) {
  if (!on_terminal_) return;
  shown_ = true;
  write(kClearLine + what);
}

/// A terminal that takes nothing more has no need to know.
void ProgressLine::write(const std::string& text) const {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace ddprun
