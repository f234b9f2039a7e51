#include "base/process/query_process.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/system/linux_calls.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a process that is asked answers with all that it writes") {
  const std::string large(300'000, 'x');
  CHECK(QueryProcess::start(60s, [&] { return large; }).answer().value() == large);
  CHECK(QueryProcess::run(60s, {"/bin/sh", "-c", "echo hello"}).answer().value() == "hello\n");
}

TEST_CASE("a process that hangs, crashes or is not there costs a sentence") {
  std::fflush(nullptr);  // ThreadSanitizer's _exit() would write it, and so the child's answer
  const auto hung = QueryProcess::start(50ms, [] {
                      for (;;) ::pause();
                      return std::string{};
                    }).answer();
  REQUIRE_FALSE(hung.has_value());
  CHECK(hung.error().kind == Error::Kind::kTimeout);
  CHECK(hung.error().message == "no answer within 0.05 s");
  const auto crashed = QueryProcess::start(60s, [] {
                         ::raise(SIGKILL);
                         return std::string{};
                       }).answer();
  REQUIRE_FALSE(crashed.has_value());
  CHECK_THAT(crashed.error().message, contains("ended without an answer"));
  CHECK_FALSE(QueryProcess::run(60s, {"/no/such/program"}).answer().has_value());
}

TEST_CASE("a process that is asked holds no stream of its parent's, whose reader may wait for it") {
  const auto own = [] { return std::filesystem::read_symlink("/proc/self/fd/1").string(); };
  CHECK(QueryProcess::start(60s, own).answer().value() == "/dev/null");
}

TEST_CASE("with a script that does not answer, what it has started ends as well") {
  pid_t pid = 0;
  {
    auto asked = QueryProcess::run(60s, {"/bin/sh", "-c", "sleep 600 & echo $!; wait"});
    const Descriptor pipe{asked.release_pipe()};
    std::string line(20, '\0');
    REQUIRE(read(pipe.number(), line.data(), line.size()) > 1);
    pid = std::stoi(line);
  }
  const Descriptor sleeper{open_process(pid)};  // not open: it has been reaped
  pollfd ended{.fd = sleeper.number(), .events = POLLIN, .revents = 0};
  CHECK((!sleeper.is_open() || poll(&ended, 1, 60'000) == 1));
}

TEST_CASE("an exception in a process that is asked leaves this one's files alone") {
  const ScratchFolder scratch;
  const auto thrown = QueryProcess::start(60s, []() -> std::string {
                        throw std::runtime_error{"no threads are left"};
                      }).answer();
  REQUIRE_FALSE(thrown.has_value());
  CHECK_THAT(thrown.error().message, contains("ended without an answer"));
  CHECK(std::filesystem::exists(scratch.path()));
}

TEST_CASE("a program is found on the PATH, and has the environment that it is given") {
  const std::vector<std::string> variables{"GREETING=hello"};
  const std::vector<std::string> words{"sh", "-c", "echo $GREETING $HOME"};
  CHECK(QueryProcess::run(60s, words, {.environment = variables}).answer().value() == "hello\n");
}

TEST_CASE("a program's output is there also when it fails, and none when it does not run or end") {
  CHECK(output_of({"sh", "-c", "echo told; exit 3"}) == "told\n");
  std::fflush(nullptr);  // ThreadSanitizer's _exit() writes what is held, into the pipe
  CHECK(output_of({"no-such-program"}).empty());
  CHECK(output_of({"sh", "-c", "echo told; exec sleep 600"}, 50ms).empty());
}

TEST_CASE("a program's errors appear where this process's do") {
  const auto own = [](bool shown) {
    return QueryProcess::run(60s, {"readlink", "/proc/self/fd/2"}, {.shows_errors = shown})
        .answer()
        .value();
  };
  CHECK(own(false) == "/dev/null\n");
  CHECK(own(true) == std::filesystem::read_symlink("/proc/self/fd/2").string() + "\n");
}

}  // namespace
}  // namespace ddprun
