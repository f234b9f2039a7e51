#include "agent/introspection/native_stack.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "agent/introspection/python_stack.hpp"
#include "base/coroutines.hpp"
#include "base/process/process_facts.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

TEST_CASE("what eu-stack writes is read") {
  const std::string text = parse_native_stack(
      "PID 495 - process\n"
      "TID 495:\n"
      "#0  0x00007fda47dc5503 clock_nanosleep@GLIBC_2.2.5\n"
      "    ../sysdeps/unix/sysv/linux/clock_nanosleep.c:71:10\n"
      "#1  0x000055cebc1db15e app::load_batch(int)\n"
      "    /src/train.cpp:12:3\n"
      "#2  0x000055cebc1db18e\n");
  CHECK(parse_stack_text(text) ==
        Frames{{"clock_nanosleep", "../sysdeps/unix/sysv/linux/clock_nanosleep.c", 71},
               {"app::load_batch(int)", "/src/train.cpp", 12},
               {"?", "", 0}});
}

TEST_CASE("without frames there is no stack") {
  CHECK(parse_native_stack("").empty());
  CHECK(parse_native_stack("eu-stack: dwfl_linux_proc_attach: Operation not permitted\n").empty());
}

TEST_CASE("what gdb writes is read, of the main thread") {
  const std::string text = parse_gdb_stack(
      "[New LWP 24412]\n"
      "0x00007f00bdd07df2 in __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
      "29\t../sysdeps/unix/sysv/linux/pause.c: No such file or directory.\n"
      "\n"
      "Thread 2 (Thread 0x7f00bdc306c0 (LWP 24412) \"train\"):\n"
      "#0  0x00007f00bdd07df2 in other_thread () from /lib/x.so\n"
      "\n"
      "Thread 1 (Thread 0x7f00bdc31740 (LWP 24410) \"train\"):\n"
      "#0  __GI___clock_nanosleep (clock_id=..., req=...) at ../sysdeps/clock_nanosleep.c:71\n"
      "#1  0x0000557c4dd0b191 in app::load (s=..., t=...) at /src/at home/train.cpp:5\n"
      "#2  0x0000557c4dd0b1b6 in std::function<void (int)>::operator() (this=...) at /x.hpp:590\n"
      "#3  0x00007f00bdc46305 in run_all(int) () from /usr/lib/libtrain.so.1\n"
      "#4  0x000055b2fa3f3621 in ?? ()\n"
      "#10 0x000055b2fa3f3621 in main () at a.cpp:9\n"
      "[Inferior 1 (process 24410) detached]\n");
  CHECK(parse_stack_text(text) ==
        Frames{{"__GI___clock_nanosleep", "../sysdeps/clock_nanosleep.c", 71},
               {"app::load", "/src/at home/train.cpp", 5},
               {"std::function<void (int)>::operator()", "/x.hpp", 590},
               {"run_all(int)", "", 0},
               {"?", "", 0},
               {"main", "a.cpp", 9}});
  CHECK(parse_gdb_stack("ptrace: Operation not permitted.\n").empty());
  CHECK(parse_gdb_stack("Thread 1 (x):\n#\n#0\n#1  0x00 in \n") == "?\t\t0\n?\t\t0\n?\t\t0");
}

bool has_gdb() {
  const bool there = access("/usr/bin/gdb", X_OK) == 0;
  if (!there) WARN("left out: there is no gdb");
  if (!there) SUCCEED();
  return there;
}

/// A process that sleeps.
class SleepingProcess {
 public:
  SleepingProcess() {
    char name[] = "/bin/sleep";
    char time[] = "600";
    char* const argv[] = {name, time, nullptr};
    REQUIRE(posix_spawn(&pid_, name, nullptr, nullptr, argv, environ) == 0);
    falls_asleep();
  }
  SleepingProcess(const SleepingProcess&) = delete;
  ~SleepingProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  char state() const {
    const auto facts = read_process(pid_);
    return facts ? facts->state : 'X';
  }
  void falls_asleep() const {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (state() != 'S' && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    REQUIRE(state() == 'S');
  }

 private:
  pid_t pid_ = 0;
};

std::string stack_by(const SleepingProcess& sleeper, std::chrono::milliseconds patience) {
  EventLoop loop;
  std::optional<std::string> stack;
  asio::co_spawn(loop.executor(), native_stack(sleeper.pid(), StackTool::kGdb, patience),
                 [&](const std::exception_ptr& failure, std::string found) {
                   report_failure("looking at a process")(failure);
                   stack = std::move(found);
                 });
  loop.run_until([&] { return stack.has_value(); }, "a stack");
  return *stack;
}

TEST_CASE("gdb tells where a process is, which sleeps on afterwards") {
  if (!has_gdb()) return;
  const SleepingProcess sleeper;
  const std::string stack = stack_by(sleeper, std::chrono::seconds{60});
  if (stack.empty()) WARN("gdb may not look at processes here");
  if (!stack.empty()) CHECK_THAT(stack, contains("nanosleep"));
  CHECK(sleeper.state() == 'S');
}

TEST_CASE("a process goes on also when the tool that looks at it is too slow, and ended") {
  if (!has_gdb()) return;
  const SleepingProcess sleeper;
  for (const int ms : {0, 1, 5, 20, 50, 100})
    CHECK_NOTHROW(stack_by(sleeper, std::chrono::milliseconds{ms}));
  sleeper.falls_asleep();
}

}  // namespace
}  // namespace ddprun
