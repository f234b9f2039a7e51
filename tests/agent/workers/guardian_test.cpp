#include "agent/workers/guardian.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "agent/workers/worker_plan.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

/// This test's own mark: other guardians may be at work on this machine.
std::string own_mark() { return "test-" + std::to_string(getpid()); }

/// A sleeping process with that variable, which has begun.
struct Sleeper {
  Pipe out;
  ChildProcess process;
  Sleeper(EventLoop& loop, SpawnPool& pool, const std::string& variable)
      : process{start_one(loop, pool,
                          {probe({"say", "begins", "sleep"}, {"A=b", variable, "LAST=one"}),
                           {.out = out.writer()}})} {
    out.line("the beginning of a marked process");
  }
  bool sleeps() const {
    siginfo_t ended{};
    const auto pid = static_cast<id_t>(process.pid());
    return waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
  }
};

/// Starts a process with a guardian that dies without a word; returns when the guardian has ended.
void die_with_guardian(
    const std::string& mark, const std::function<void(Guardian&)>& prepare = [](Guardian&) {}) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that this process is the parent that reaps the guardian
  Pipe pipe;
  const pid_t agent = fork();
  if (agent == 0) {
    Guardian guardian{mark};
    prepare(guardian);
    const std::string pid = std::to_string(guardian.pid()) + "\n";
    if (::write(pipe.writer(), pid.data(), pid.size()) < 0) _exit(1);
    raise(SIGKILL);
  }
  const pid_t guardian = std::stoi(pipe.line("the guardian's number"));
  CHECK(guardian > 0);
  REQUIRE(waitpid(agent, nullptr, 0) == agent);
  REQUIRE(waitpid(guardian, nullptr, __WALL) == guardian);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("a guardian kills all that carry its mark when its agent has been killed") {
  EventLoop loop;
  SpawnPool pool{1};
  const std::string mark = own_mark();
  const std::string variable = std::string{kMarkVariable} + "=";
  Sleeper marked{loop, pool, variable + mark};
  Sleeper nested{loop, pool, variable + "outer:" + mark + ":inner"};
  const Sleeper longer{loop, pool, variable + mark + "0"};
  const Sleeper other_name{loop, pool, std::string{kMarkVariable} + "X" + mark + ":=1"};
  const Sleeper unmarked{loop, pool, variable};
  die_with_guardian(mark);
  CHECK(loop.run(marked.process.wait(), "the marked one's end") == ExitStatus{.signal = SIGKILL});
  CHECK(loop.run(nested.process.wait(), "the nested one's end") == ExitStatus{.signal = SIGKILL});
  CHECK(longer.sleeps());
  CHECK(other_name.sleeps());
  CHECK(unmarked.sleeps());
}

TEST_CASE("a guardian also kills who is just executing another program") {
  EventLoop loop;
  SpawnPool pool{1};
  const ScratchFolder folder;
  const std::string script = (folder / "again").string();
  std::ofstream{script} << "#!/bin/sh\nexec \"$0\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::string mark = own_mark();
  const std::string variable = std::string{kMarkVariable} + "=" + mark;
  for (int i = 0; i < 10; ++i) {
    ChildProcess restless = start_one(loop, pool, {Command{script, {script}, {variable}, {}}, {}});
    die_with_guardian(mark);
    REQUIRE(loop.run(restless.wait(), "the restless one's end") == ExitStatus{.signal = SIGKILL});
  }
}

TEST_CASE("a guardian removes what its agent has made, and no folder of others") {
  const ScratchFolder folder;
  for (const std::string name : {"own/a/b", "empty/own/c", "full/own/d", "full/other", "pipe"})
    folder.write(name, "text");
  die_with_guardian(own_mark(), [&](Guardian& guardian) {
    for (const std::string name : {"own", "empty/own", "full/own", "pipe", "not there"})
      guardian.also_remove(folder / name);
    for (const std::string name : {"empty", "full"}) guardian.also_remove_if_empty(folder / name);
  });
  for (const std::string name : {"own", "empty", "full/own", "pipe"})
    CHECK_FALSE(std::filesystem::exists(folder / name));
  CHECK(std::filesystem::exists(folder / "full/other"));
}

TEST_CASE("a guardian that is dismissed removes nothing") {
  const ScratchFolder folder;
  folder.write("log", "text");
  {
    Guardian guardian{own_mark()};
    guardian.also_remove(folder / "log");
  }
  CHECK(std::filesystem::exists(folder / "log"));
}

TEST_CASE("a guardian that is dismissed kills nobody") {
  EventLoop loop;
  SpawnPool pool{1};
  const std::string mark = own_mark();
  const Sleeper marked{loop, pool, std::string{kMarkVariable} + "=" + mark};
  pid_t pid = -1;
  {
    const Guardian guardian{mark};
    pid = guardian.pid();
    REQUIRE(pid > 0);
  }
  CHECK(kill(pid, 0) == -1);
  CHECK(errno == ESRCH);
  CHECK(marked.sleeps());
}

TEST_CASE("a guardian is none of the children that a process waits for") {
  const bool had_children = has_children();
  const std::size_t files_before = count_open_files();
  {
    const Guardian guardian{own_mark()};
    REQUIRE(guardian.pid() > 0);
    CHECK(has_children() == had_children);
  }
  CHECK(count_open_files() == files_before);
}

TEST_CASE("a guardian keeps none of its agent's files open") {
  Pipe held;
  const Guardian guardian{own_mark()};
  REQUIRE(guardian.pid() > 0);
  CHECK(held.rest("the end of what the agent held").empty());
}

}  // namespace
}  // namespace ddprun
