#include "agent/output/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace ddprun {

namespace {

/// The size that programs assume if they cannot find it out. No size at all makes some of them
/// divide by zero.
constexpr winsize kUsualSize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};

Error no_terminal() {
  return {Error::Kind::kUnavailable, std::string{"cannot make a terminal for a worker's output: "} +
                                         std::strerror(errno) + " (--no-pty needs none)"};
}

/// Has the terminal pass on every byte: "\n" does not become "\r\n", and nothing is echoed.
void make_transparent(int fd) {
  termios settings{};
  if (tcgetattr(fd, &settings) != 0) return;
  cfmakeraw(&settings);
  tcsetattr(fd, TCSANOW, &settings);
}

}  // namespace

Result<Terminal> open_terminal() {
  Terminal terminal;
  terminal.ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (terminal.ours < 0) return no_terminal();
  if (grantpt(terminal.ours) == 0 && unlockpt(terminal.ours) == 0)
    terminal.workers = ioctl(terminal.ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal.workers < 0) {
    const Error error = no_terminal();
    ::close(terminal.ours);
    return error;
  }
  make_transparent(terminal.workers);
  copy_window_size(terminal.ours);
  return terminal;
}

void copy_window_size(int ours) {
  winsize size = kUsualSize;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO}) {
    winsize own{};
    if (ioctl(fd, TIOCGWINSZ, &own) != 0 || own.ws_col == 0) continue;
    size = own;
    break;
  }
  ioctl(ours, TIOCSWINSZ, &size);
}

}  // namespace ddprun
