#include "launcher/run/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace ddprun {

bool wants_color(int stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(stream) == 1 && (no_color == nullptr || *no_color == '\0');
}

int terminal_columns(int stream, int otherwise) {
  winsize size{};
  if (::ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

}  // namespace ddprun
