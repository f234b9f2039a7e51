// Pipe: what a test hears from its processes. That the last process that has the writing end is
// gone is heard as well, so that no test has to look for processes.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(ends_[0]); }
  void close_writer() { close_end(ends_[1]); }

  /// The next line without its end.
  std::string line(const std::string& what) {
    while (text_.find('\n') == std::string::npos)
      if (!read_more(what)) FAIL("the pipe ended before " << what << ", after: " << text_);
    const std::size_t end = text_.find('\n');
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

  /// All until every writer is gone.
  std::string rest(const std::string& what) {
    close_writer();
    while (read_more(what)) continue;
    return std::exchange(text_, {});
  }

  /// What is there by now.
  std::string available() {
    pollfd ready{reader(), POLLIN, 0};
    while (poll(&ready, 1, 0) > 0 && read_more("what is there")) continue;
    return std::exchange(text_, {});
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }

  bool read_more(const std::string& what) {
    using std::chrono::milliseconds;
    pollfd ready{reader(), POLLIN, 0};
    const auto patience = std::chrono::duration_cast<milliseconds>(kTestPatience).count();
    if (poll(&ready, 1, static_cast<int>(patience)) == 0)
      FAIL("waited in vain for " << what << ", after: " << text_);
    std::array<char, 4096> bytes{};
    const ssize_t n = ::read(reader(), bytes.data(), bytes.size());
    if (n <= 0) return false;
    text_.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
  }

  std::array<int, 2> ends_{-1, -1};
  std::string text_;
};

}  // namespace ddprun
