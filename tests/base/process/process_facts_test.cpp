#include "base/process/process_facts.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the kernel's line about a process is read, whatever the process calls itself") {
  const auto facts = parse_stat(
      "42 (a) S (b) R 7 42 42 0 -1 4194304 100 0 12 0 250 50 0 0 20 0 1 0 900 2654208 205 "
      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0",
      100);
  REQUIRE(facts);
  CHECK(facts->pid == 42);
  CHECK(facts->name == "a) S (b");
  CHECK(facts->state == 'R');
  CHECK(facts->parent == 7);
  CHECK(facts->cpu == std::chrono::seconds{3});
  CHECK(facts->started == std::chrono::seconds{9});
  CHECK(facts->last_cpu == 3);
  CHECK(facts->major_faults == 12);
  CHECK_FALSE(facts->exiting);
  const auto leaving =
      parse_stat("42 (a) S 7 42 42 0 -1 4194308 100 0 0 0 250 50 0 0 20 0 1 0 9 1 1", 100);
  REQUIRE(leaving);
  CHECK(leaving->exiting);
}

TEST_CASE("a process is ending when all of its threads are, and not before") {
  CHECK_FALSE(is_ending(getpid()));
  CHECK_FALSE(is_ending(-1));

  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t how{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(ended), &how, WEXITED | WNOWAIT) == 0);
  CHECK(is_ending(ended));
  REQUIRE(waitpid(ended, nullptr, 0) == ended);

  const pid_t headless = fork();  // its main thread ends, and another one goes on
  if (headless == 0) {
    std::thread{[] {
      for (;;) pause();
    }}.detach();
    syscall(SYS_exit, 0);  // ends this thread alone
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (read_process(headless)->state != 'Z') {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
  CHECK_FALSE(is_ending(headless));
  kill(headless, SIGKILL);
  REQUIRE(waitpid(headless, nullptr, 0) == headless);
}

TEST_CASE("what is no such line tells nothing") {
  for (const char* text :
       {"", "42", "42 (a)", "42 (a) R", ") R 7 (", "x (a) R 7 1 1 0 0 0 0 0 0 0"}) {
    INFO(text);
    CHECK_FALSE(parse_stat(text, 100));
  }
}

TEST_CASE("a thread has run, and has waited for a CPU") {
  const auto times = parse_thread_times("5000000 2000999 17\n");
  REQUIRE(times);
  CHECK(times->ran == std::chrono::milliseconds{5});
  CHECK(times->waited == std::chrono::microseconds{2000});
  for (const char* other : {"", "5000000", "x 1 2", "1 x 2"})
    CHECK_FALSE(parse_thread_times(other).has_value());
}

TEST_CASE("this process and its signals are found") {
  const auto self = read_process(getpid());
  REQUIRE(self);
  CHECK(self->parent == getppid());
  CHECK(read_process_tree(getpid()).front().pid == getpid());
  CHECK_FALSE(read_process(-1));
  CHECK_FALSE(handles_signal(getpid(), SIGRTMIN + 9));
  const auto before = std::signal(SIGRTMIN + 9, [](int) {});
  CHECK(handles_signal(getpid(), SIGRTMIN + 9));
  std::signal(SIGRTMIN + 9, before);
}

}  // namespace
}  // namespace ddprun
