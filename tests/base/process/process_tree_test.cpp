#include "base/process/process_tree.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "tests/support/probes.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr auto kNobody = [] { return std::vector<pid_t>{}; };

/// Kills what a test that failed has left, so that the next one begins without children.
struct NoChildren {
  Subreaper reaper;
  ~NoChildren() {
    for (const pid_t pid : children()) kill(pid, SIGKILL);
  }
  static std::vector<pid_t> children() {
    std::ifstream list{"/proc/self/task/" + std::to_string(getpid()) + "/children"};
    std::vector<pid_t> pids;
    for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
    return pids;
  }
};

pid_t parent_of(pid_t pid) {
  std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  return -1;
}

int kill_all(std::chrono::milliseconds patience,
             std::function<std::vector<pid_t>()> spared = kNobody) {
  EventLoop loop;
  return loop.run(kill_descendants(patience, std::move(spared)), "the end of all descendants");
}

TEST_CASE("orphans become children of a process that adopts them") {
  const NoChildren afterwards;
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  REQUIRE(adopt_orphans().has_value());
  Pipe out;
  const pid_t leader = start_plainly({"orphan", "exit", "0"}, out);
  const pid_t orphan = std::stoi(out.line("the orphan's number"));
  REQUIRE(waitpid(leader, nullptr, 0) == leader);
  CHECK(parent_of(orphan) == getpid());
  CHECK(kill_all(kTestPatience) == 0);
  CHECK(out.rest("the orphan's end").empty());
}

TEST_CASE("descendants are killed and reaped, also those in sessions of their own") {
  const NoChildren afterwards;
  Pipe out;
  for (int i = 0; i < 3; ++i) {
    start_plainly({"orphan", "orphan", "sleep"}, out);
    out.line("the number of one");
    out.line("the number of the other");
  }
  CHECK(kill_all(kTestPatience) == 0);
  CHECK(out.rest("the end of all").empty());
  CHECK_FALSE(has_children());
}

TEST_CASE("descendants that would outlive a polite signal are killed, too") {
  const NoChildren afterwards;
  Pipe out;
  start_plainly({"child", "tell", "parent", "say", "listens", "sleep"}, out);
  out.line("the beginning of one");
  out.line("the beginning of the other");
  CHECK(kill_all(kTestPatience) == 0);
  CHECK(out.rest("the end of both").empty());
}

TEST_CASE("a child that has ended by itself is reaped") {
  const NoChildren afterwards;
  Pipe out;
  start_plainly({"exit", "0"}, out);
  CHECK(out.rest("its end").empty());
  CHECK(kill_all(kTestPatience) == 0);
  CHECK_FALSE(has_children());
}

TEST_CASE("an orphan that has ended is reaped, a child that somebody waits for is not") {
  const NoChildren afterwards;
  Pipe out, orphan_out;
  const pid_t waited_for = start_plainly({"exit", "3"}, out);
  const pid_t leader = start_plainly({"orphan", "exit", "0"}, orphan_out);
  const pid_t orphan = std::stoi(orphan_out.line("the orphan's number"));
  kill(orphan, SIGKILL);
  REQUIRE(waitpid(leader, nullptr, 0) == leader);
  siginfo_t ended{};
  for (const pid_t pid : {waited_for, orphan})
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) == 0);
  reap_orphans({waited_for});
  CHECK_FALSE(is_child(orphan));
  CHECK(is_child(waited_for));
}

TEST_CASE("a child that has not ended stays when orphans are reaped") {
  const NoChildren afterwards;
  Pipe out;
  const pid_t alive = start_plainly({"say", "begins", "sleep"}, out);
  out.line("the beginning");
  reap_orphans({});
  CHECK(is_child(alive));
}

TEST_CASE("without children there is nothing to kill") {
  const NoChildren afterwards;
  CHECK(kill_all(0ms) == 0);
}

TEST_CASE("children that are named are spared") {
  const NoChildren afterwards;
  Pipe out, spared_out;
  const pid_t spared = start_plainly({"say", "begins", "copy", "sleep"}, spared_out);
  spared_out.line("the beginning of the spared one");
  start_plainly({"orphan", "sleep"}, out);
  out.line("the number of the other's child");
  CHECK(kill_all(kTestPatience, [spared] { return std::vector{spared}; }) == 0);
  CHECK(out.rest("the end of the others").empty());
  CHECK(NoChildren::children() == std::vector{spared});
  siginfo_t ended{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(spared), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
  CHECK(ended.si_pid == 0);
}

TEST_CASE("spared processes are asked for again, as they may have changed by then") {
  const NoChildren afterwards;
  Pipe first_out, second_out;
  const pid_t first = start_plainly({"say", "begins", "sleep"}, first_out);
  const pid_t second = start_plainly({"say", "begins", "sleep"}, second_out);
  first_out.line("the first");
  second_out.line("the second");
  int asked = 0;
  CHECK(kill_all(kTestPatience, [&] { return std::vector{asked++ < 2 ? first : second}; }) == 0);
  CHECK(first_out.rest("the end of the first").empty());
  CHECK(second_out.rest("the end of the second").empty());
}

TEST_CASE("those that are left when patience ends are counted, but for the spared") {
  const NoChildren afterwards;
  Pipe out;
  const pid_t spared = start_plainly({"sleep"}, out);
  start_plainly({"sleep"}, out);
  start_plainly({"sleep"}, out);
  CHECK(kill_all(0ms) == 3);
  CHECK(kill_all(0ms, [spared] { return std::vector{spared}; }) == 2);
}

TEST_CASE("a descendant that does not go away is not waited for longer than patience lasts") {
  const NoChildren afterwards;
  Pipe out;
  const pid_t stuck = start_plainly({"say", "begins", "sleep"}, out);
  out.line("the beginning");
  // A process whose tracer does not ask for its end cannot be reaped.
  const pid_t tracer = start_plainly({"trace", std::to_string(stuck), "sleep"}, out);
  if (out.line("whether one may trace") != "traces") {
    WARN("skipped: processes may not trace one another here");
    SUCCEED();
    return;
  }
  CHECK(kill_all(20ms, [tracer] { return std::vector{tracer}; }) == 1);
  kill(tracer, SIGKILL);
  CHECK(kill_all(kTestPatience) == 0);
}

}  // namespace
}  // namespace ddprun
