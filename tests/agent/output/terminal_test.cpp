#include "agent/output/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// As long as it lives, this process's own streams are that file.
class OwnStreams {
 public:
  explicit OwnStreams(int file) {
    for (int i = 0; i < 3; ++i) {
      saved_[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
      dup2(file, i);
    }
  }
  ~OwnStreams() {
    for (int i = 0; i < 3; ++i) {
      if (saved_[i] < 0) {
        ::close(i);
        continue;
      }
      dup2(saved_[i], i);
      ::close(saved_[i]);
    }
  }
  OwnStreams(const OwnStreams&) = delete;
  OwnStreams& operator=(const OwnStreams&) = delete;

 private:
  std::array<int, 3> saved_{};
};

struct OpenTerminal : Terminal {
  OpenTerminal() : Terminal{open()} {}
  ~OpenTerminal() {
    ::close(ours);
    ::close(workers);
  }
  OpenTerminal(const OpenTerminal&) = delete;
  OpenTerminal& operator=(const OpenTerminal&) = delete;

  static Terminal open() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const OwnStreams no_terminal{nothing};
    const auto terminal = open_terminal();
    ::close(nothing);
    if (!terminal) throw std::runtime_error{terminal.error().message};
    return *terminal;
  }
  winsize size() const {
    winsize size{};
    ioctl(workers, TIOCGWINSZ, &size);
    return size;
  }
  std::string heard() const {
    std::array<char, 256> bytes{};
    const ssize_t n = ::read(ours, bytes.data(), bytes.size());
    return n < 0 ? "" : std::string{bytes.data(), static_cast<std::size_t>(n)};
  }
};

TEST_CASE("what a worker writes to its terminal arrives unchanged") {
  const OpenTerminal terminal;
  CHECK(isatty(terminal.workers) == 1);
  const std::string bytes{"line\n\ttab\r\n\x03\x04\0\xff", 15};
  REQUIRE(::write(terminal.workers, bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
  CHECK(terminal.heard() == bytes);
  errno = 0;
  CHECK(terminal.heard().empty());
  CHECK(errno == EAGAIN);  // nothing there is no reason to block
}

TEST_CASE("a terminal is closed when its worker executes another program") {
  const OpenTerminal terminal;
  CHECK((fcntl(terminal.ours, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(terminal.workers, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a terminal has the usual size where there is no other") {
  const OpenTerminal terminal;
  CHECK(terminal.size().ws_row == 24);
  CHECK(terminal.size().ws_col == 80);
}

TEST_CASE("a terminal takes on the size of the program's own, once that has one") {
  const OpenTerminal own;
  const OpenTerminal workers;
  const winsize wide{50, 132, 0, 0};
  REQUIRE(ioctl(own.workers, TIOCSWINSZ, &wide) == 0);
  {
    const OwnStreams streams{own.workers};
    copy_window_size(workers.ours);
  }
  CHECK(workers.size().ws_row == 50);
  CHECK(workers.size().ws_col == 132);
  const winsize none{0, 0, 0, 0};
  REQUIRE(ioctl(own.workers, TIOCSWINSZ, &none) == 0);
  {
    const OwnStreams streams{own.workers};
    copy_window_size(workers.ours);
  }
  CHECK(workers.size().ws_col == 80);
}

}  // namespace
}  // namespace ddprun
