#include "base/process/child_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "base/process/file_limit.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

/// How many signals were meant for all processes, or for the system's first. None leaves this test.
int signals_to_all = 0;

}  // namespace

extern "C" int kill(pid_t pid, int signal) noexcept {
  if (pid != -1 && pid != 1) return static_cast<int>(syscall(SYS_kill, pid, signal));
  ++signals_to_all;
  return 0;
}

namespace ddprun {
namespace {

/// All that a process with these steps prints, after it has ended well.
std::string what_it_writes(Command command, std::vector<int> files = {}) {
  EventLoop loop;
  SpawnPool pool{1};
  Pipe out;
  ChildProcess child =
      start_one(loop, pool, {std::move(command), {.out = out.writer()}, std::move(files)});
  const std::string text = out.rest("the end of a probe");
  CHECK(loop.run(child.wait(), "the end of a probe") == ExitStatus{});
  return text;
}

std::uint64_t ignored_by_this_process() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigIgn:")) return std::stoull(line.substr(7), nullptr, 16);
  FAIL("no SigIgn in /proc/self/status");
  return 0;
}

std::uint64_t bit_of(int signal) { return 1ULL << (signal - 1); }

TEST_CASE("several children start at once, each with its own words and environment") {
  EventLoop loop;
  SpawnPool pool{2};
  std::vector<Pipe> outs(5);
  std::vector<NewChild> children;
  for (int i = 0; i < 5; ++i)
    children.push_back({probe({"words", "number " + std::to_string(i), "", "a\nb"},
                              {"RANK=" + std::to_string(i), "EMPTY="}),
                        {.out = outs[i].writer()}});
  auto started = ChildProcess::spawn(loop.executor(), pool, children);
  REQUIRE(started.size() == 5);
  std::set<pid_t> pids;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(started[i].has_value());
    pids.insert(started[i]->pid());
    CHECK(outs[i].rest("a child's words") == "probe\nwords\nnumber " + std::to_string(i) +
                                                 "\n\na\nb\nRANK=" + std::to_string(i) +
                                                 "\nEMPTY=\n");
    CHECK(loop.run(started[i]->wait(), "a child's end") == ExitStatus{});
  }
  CHECK(pids.size() == 5);
}

TEST_CASE("a child has the streams that it is given") {
  EventLoop loop;
  SpawnPool pool{1};
  Pipe in, out, err;
  ChildProcess child = start_one(loop, pool,
                                 {probe({"copy", "write", "2", "to err"}),
                                  {.out = out.writer(), .err = err.writer(), .in = in.reader()}});
  REQUIRE(write(in.writer(), "through", 7) == 7);
  in.close_writer();
  CHECK(out.rest("the child's output") == "through");
  CHECK(err.rest("the child's errors") == "to err");
  CHECK(loop.run(child.wait(), "the child's end") == ExitStatus{});
}

TEST_CASE("a child's further files are 3, 4 and so on, and it has no others") {
  Pipe first, second;
  const std::string text =
      what_it_writes(probe({"facts", "write", "3", "one", "write", "4", "two"}),
                     {first.writer(), second.writer()});
  CHECK(first.rest("the child's file 3") == "one");
  CHECK(second.rest("the child's file 4") == "two");
  CHECK(parse_facts(text)["files"] == "0 1 2 3 4");
  CHECK(parse_facts(what_it_writes(probe({"facts"})))["files"] == "0 1 2");
}

TEST_CASE("a child's files may have the numbers of one another") {
  Pipe first, second;
  const int a = first.writer();
  const int b = second.writer();
  // The list is as long as to give the child's file number `a` to `b`, and the other way round.
  std::vector<int> files;
  for (int number = 3; number <= std::max(a, b); ++number)
    files.push_back(number == a ? b : number == b ? a : first.writer());
  what_it_writes(probe({"write", std::to_string(b), "first", "write", std::to_string(a), "second"}),
                 files);
  CHECK(first.rest("the first pipe") == "first");
  CHECK(second.rest("the second pipe") == "second");
}

TEST_CASE("a child leads a session and a group, and dies with its agent") {
  auto facts = parse_facts(what_it_writes(probe({"facts"})));
  CHECK(facts["session"] == "own");
  CHECK(facts["group"] == "own");
  CHECK(facts["deathsig"] == std::to_string(SIGKILL));
}

TEST_CASE("a child dies with the pool that started it") {
  EventLoop loop;
  std::optional<SpawnPool> pool{std::in_place, 1};
  ChildProcess child = start_one(loop, *pool, {probe({"sleep"})});
  pool.reset();
  CHECK(loop.run(child.wait(), "the child's end") == ExitStatus{.signal = SIGKILL});
}

TEST_CASE("a child's signals are unblocked, and ignored only by the user's wish") {
  const Ignored user_wish{SIGHUP};
  const Ignored own_affair{SIGPIPE};
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto facts = parse_facts(what_it_writes(probe({"facts"})));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(std::stoull(facts["blocked"], nullptr, 16) == 0);
  const std::uint64_t ignored = std::stoull(facts["ignored"], nullptr, 16);
  CHECK(ignored == (ignored_by_this_process() & ~bit_of(SIGPIPE)));
  CHECK((ignored & bit_of(SIGHUP)) != 0);
}

TEST_CASE("a child runs on the CPUs it is given") {
  cpu_set_t own;
  CPU_ZERO(&own);
  REQUIRE(sched_getaffinity(0, sizeof(own), &own) == 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &own)) --last;
  Command command = probe({"facts"});
  command.placement.cpus = {last};
  const std::string facts = what_it_writes(std::move(command));
  CHECK(parse_facts(facts)["cpus"] == std::to_string(last));
}

TEST_CASE("a child starts with the limit of open files that was there before it was raised") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit low{200, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(raise_file_limit("2 workers", 300).has_value());
  rlimit raised{};
  getrlimit(RLIMIT_NOFILE, &raised);
  CHECK(raised.rlim_cur == before.rlim_max);
  CHECK(parse_facts(what_it_writes(probe({"facts"})))["file limit"] == "200");

  const auto too_many = raise_file_limit("64 workers", before.rlim_max);
  REQUIRE_FALSE(too_many.has_value());
  CHECK(too_many.error().kind == Error::Kind::kUnavailable);
  CHECK_THAT(too_many.error().message, contains("64 workers need about"));
  CHECK_THAT(too_many.error().message, contains(std::to_string(before.rlim_max)));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a program that cannot be started is named, and the others start") {
  ScratchFolder folder;
  std::ofstream{folder / "no_program"} << "text";
  Command absent{folder / "absent", {"absent"}, {}, {}};
  Command no_program{folder / "no_program", {"no_program"}, {}, {}};
  Command no_place = probe({"exit", "0"});
  no_place.placement.cpus = {100'000};
  EventLoop loop;
  SpawnPool pool{2};
  auto started = ChildProcess::spawn(loop.executor(), pool,
                                     {{absent}, {probe({"exit", "3"})}, {no_program}, {no_place}});
  REQUIRE(started.size() == 4);
  REQUIRE_FALSE(started[0].has_value());
  CHECK(started[0].error().kind == Error::Kind::kNotFound);
  CHECK_THAT(started[0].error().message,
             contains("cannot start '" + (folder / "absent").string() + "': No such file"));
  REQUIRE(started[1].has_value());
  CHECK(loop.run(started[1]->wait(), "the end of the one that starts") == ExitStatus{.code = 3});
  REQUIRE_FALSE(started[2].has_value());
  CHECK(started[2].error().kind == Error::Kind::kDenied);
  CHECK_THAT(started[2].error().message,
             contains("cannot start '" + (folder / "no_program").string() + "': Permission"));
  REQUIRE_FALSE(started[3].has_value());
  CHECK(started[3].error().kind == Error::Kind::kDenied);
}

TEST_CASE("a program that cannot be started leaves no process behind") {
  while (waitpid(-1, nullptr, 0) > 0) continue;  // reaps what other tests have left
  EventLoop loop;
  SpawnPool pool{1};
  const auto started =
      ChildProcess::spawn(loop.executor(), pool, {{{"/nonexistent/program", {"program"}, {}, {}}}});
  REQUIRE_FALSE(started.front().has_value());
  CHECK_FALSE(has_children());
}

TEST_CASE("a child's end is shown as a code or a signal") {
  EventLoop loop;
  SpawnPool pool{1};
  ChildProcess exits = start_one(loop, pool, {probe({"exit", "7"})});
  CHECK(loop.run(exits.wait(), "an exit") == ExitStatus{.code = 7});
  ChildProcess dies = start_one(loop, pool, {probe({"raise", std::to_string(SIGKILL)})});
  CHECK(loop.run(dies.wait(), "a death") == ExitStatus{.signal = SIGKILL});
}

TEST_CASE("a child's end tells of a core file as the system does") {
  ScratchFolder folder;
  const std::string deadly = std::to_string(SIGABRT);  // an address sanitizer handles SIGSEGV
  const std::vector<std::string> crash{"folder", folder.path(), "core", "raise", deadly};
  Pipe unused;
  int status = 0;
  const pid_t plain = start_plainly(crash, unused);
  REQUIRE(waitpid(plain, &status, 0) == plain);
  REQUIRE(WIFSIGNALED(status));
  EventLoop loop;
  SpawnPool pool{1};
  ChildProcess child = start_one(loop, pool, {probe(crash)});
  const ExitStatus ended = loop.run(child.wait(), "the crash");
  CHECK(ended.signal == SIGABRT);
  CHECK(ended.core_dumped == (WCOREDUMP(status) != 0));
}

/// A worker with a process of its own in its group. Both hold file 3, which ends with the last of
/// them.
struct Family {
  Subreaper reaper;  // for the orphaned one
  EventLoop loop;
  SpawnPool pool{1};
  Pipe out;
  Pipe told;
  std::optional<ChildProcess> leader;
  pid_t child = -1;

  explicit Family(std::vector<std::string> leader_steps) {
    leader_steps.insert(leader_steps.begin(), "child");
    leader.emplace(start_one(
        loop, pool, {probe(std::move(leader_steps)), {.out = out.writer()}, {told.writer()}}));
    told.close_writer();
    std::set<std::string> lines{out.line("a word of the family"), out.line("the other's")};
    REQUIRE(lines.contains("leads"));
    lines.erase("leads");
    child = std::stoi(lines.begin()->substr(std::string{"child "}.size()));
  }
};

TEST_CASE("a signal to a child is for that process alone") {
  Family family{{"say", "leads", "sleep"}};
  family.leader->signal(SIGTERM);
  CHECK(family.loop.run(family.leader->wait(), "the leader's end") ==
        ExitStatus{.signal = SIGTERM});
  // Had the child got SIGTERM as well, it would tell of that before it tells of what comes later.
  REQUIRE(kill(family.child, SIGUSR1) == 0);
  CHECK(family.told.line("what the child tells") == "child USR1");
  family.leader.reset();
  CHECK(family.told.rest("the end of the group").empty());
}

TEST_CASE("a signal to a child's group is for all processes in it") {
  Family family{{"tell", "leader", "say", "leads", "sleep"}};
  family.leader->signal_group(SIGTERM);
  const std::set<std::string> told{family.told.line("what one tells"),
                                   family.told.line("what the other tells")};
  CHECK(told == std::set<std::string>{"leader TERM", "child TERM"});
}

TEST_CASE("a child that was not released takes its group along") {
  Family family{{"say", "leads", "sleep"}};
  family.leader.reset();
  CHECK(family.told.rest("the end of the group").empty());
}

TEST_CASE("a child that has ended is reaped by release, which ends what is left of its group") {
  Family family{{"say", "leads", "exit", "0"}};
  const pid_t pid = family.leader->pid();
  CHECK(family.loop.run(family.leader->wait(), "the leader's end") == ExitStatus{});
  CHECK(is_child(pid));  // nobody else can get its number
  CHECK(family.told.available().empty());
  REQUIRE(kill(family.child, 0) == 0);
  family.leader->release();
  CHECK_FALSE(is_child(pid));
  CHECK(family.leader->pid() == -1);
  CHECK(family.told.rest("the end of the group").empty());
}

TEST_CASE("a child that still runs when it is released is reaped when it has ended") {
  EventLoop loop;
  SpawnPool pool{1};
  Pipe held;
  ChildProcess child = start_one(loop, pool, {probe({"sleep"}), {}, {held.writer()}});
  const pid_t pid = child.pid();
  child.release();
  CHECK(child.pid() == -1);
  loop.run_until([&] { return !is_child(pid); }, "the child to be reaped");
}

TEST_CASE("a child that is gone gets no more signals, and nobody else gets them") {
  Family family{{"say", "leads", "exit", "0"}};
  family.leader->release();
  signals_to_all = 0;
  family.leader->signal(SIGTERM);
  family.leader->signal_group(SIGTERM);
  family.leader->release();
  CHECK(signals_to_all == 0);
}

TEST_CASE("a child may be moved, and ends once") {
  EventLoop loop;
  SpawnPool pool{1};
  Pipe held;
  ChildProcess first = start_one(loop, pool, {probe({"sleep"}), {}, {held.writer()}});
  const pid_t pid = first.pid();
  std::optional<ChildProcess> second{std::move(first)};
  CHECK(second->pid() == pid);
  // NOLINTNEXTLINE(bugprone-use-after-move): what is moved from is still asked
  CHECK(first.pid() == -1);
  second->signal(SIGTERM);
  CHECK(loop.run(second->wait(), "its end") == ExitStatus{.signal = SIGTERM});
}

TEST_CASE("starting children leaves no file open in the agent") {
  const std::size_t before = count_open_files();
  {
    EventLoop loop;
    SpawnPool pool{2};
    Pipe out;
    std::vector<NewChild> children(4,
                                   {probe({"exit", "0"}), {.out = out.writer()}, {out.reader()}});
    children.push_back({{"/nonexistent/program", {"program"}, {}, {}}});
    auto started = ChildProcess::spawn(loop.executor(), pool, children);
    for (int i = 0; i < 4; ++i) CHECK(loop.run(started[i]->wait(), "an end") == ExitStatus{});
    started.clear();
    CHECK_FALSE(ChildProcess::adopt_forked(loop.executor(), getpid()).has_value());
  }
  CHECK(count_open_files() == before);
}

TEST_CASE("a child that somebody else has forked is taken on") {
  EventLoop loop;
  Pipe out;
  const pid_t pid = start_plainly({"exit", "5"}, out);
  auto adopted = ChildProcess::adopt_forked(loop.executor(), pid);
  REQUIRE(adopted.has_value());
  CHECK(adopted->pid() == pid);
  CHECK(loop.run(adopted->wait(), "its end") == ExitStatus{.code = 5});
  adopted->release();
  CHECK_FALSE(is_child(pid));
}

TEST_CASE("a process that is no child of the agent is not taken on") {
  EventLoop loop;
  for (const pid_t pid : {pid_t{-1}, pid_t{0}, getpid(), getppid()}) {
    const auto adopted = ChildProcess::adopt_forked(loop.executor(), pid);
    REQUIRE_FALSE(adopted.has_value());
    CHECK(adopted.error().kind == Error::Kind::kUnavailable);
    CHECK_THAT(adopted.error().message, contains("process " + std::to_string(pid)));
  }
}

}  // namespace
}  // namespace ddprun
