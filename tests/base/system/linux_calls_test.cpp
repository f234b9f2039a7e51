#include "base/system/linux_calls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr int kPatienceMs = 60'000;

/// A child that ends when it is let go.
class Child {
 public:
  Child() {
    REQUIRE(pipe2(door_.data(), O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      char opened = 0;
      close(door_[1]);
      _exit(read(door_[0], &opened, 1) == 0 ? 7 : 1);
    }
    close(door_[0]);
  }
  pid_t pid() const { return pid_; }
  void let_go() { close(door_[1]); }

  /// Returns its exit code: it has not been reaped before.
  int reap() const {
    siginfo_t ended{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED) == 0);
    return ended.si_status;
  }

 private:
  std::array<int, 2> door_{};
  pid_t pid_ = -1;
};

bool becomes_readable(int file, int patience_ms) {
  pollfd wait{file, POLLIN, 0};
  return poll(&wait, 1, patience_ms) == 1;
}

void check_watch(int (*watch)(pid_t)) {
  Child child;
  const int file = watch(child.pid());
  REQUIRE(file >= 0);
  CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK_FALSE(becomes_readable(file, 0));
  child.let_go();
  CHECK(becomes_readable(file, kPatienceMs));
  CHECK(child.reap() == 7);
  close(file);
}

TEST_CASE("the end of a child is seen, and leaves it to be reaped") { check_watch(watch_child); }

TEST_CASE("a thread sees the end of a child where the kernel has no file for it") {
  check_watch(watch_child_by_thread);
}

TEST_CASE("a child that somebody else has reaped counts as ended for the thread, too") {
  Child child;
  child.let_go();
  CHECK(child.reap() == 7);
  const int file = watch_child_by_thread(child.pid());
  REQUIRE(file >= 0);
  CHECK(becomes_readable(file, kPatienceMs));
  close(file);
}

/// Whether a child that calls `close_from` keeps what lies below a file, and nothing from there on.
bool closes_from(void (*close_from)(int)) {
  const pid_t pid = fork();
  if (pid == 0) {
    // More than one reading of the list tells.
    const int first = dup(STDIN_FILENO);
    for (int i = 0; i < 200; ++i) dup(STDIN_FILENO);
    close_from(first + 1);
    bool right = fcntl(first, F_GETFD) >= 0;
    for (int file = first + 1; file < first + 300; ++file)
      right = right && fcntl(file, F_GETFD) < 0;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

TEST_CASE("all files from one on are closed") { CHECK(closes_from(close_files_from)); }

TEST_CASE("all files from one on are closed one by one where the kernel cannot do it at once") {
  CHECK(closes_from(close_listed_files_from));
}

TEST_CASE("a file stands for a process, and takes signals for it") {
  Child child;
  const int file = open_process(child.pid());
  REQUIRE(file >= 0);
  signal_process(file, child.pid(), SIGKILL);
  CHECK(child.reap() == SIGKILL);
  child.let_go();
  close(file);
}

TEST_CASE("a process that no file stands for takes signals by its number") {
  Child child;
  signal_process(-1, child.pid(), SIGKILL);  // Catch2 would handle others, in a half-made child
  CHECK(child.reap() == SIGKILL);
  child.let_go();
}

}  // namespace
}  // namespace ddprun
