#include "agent/workers/worker_set.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// The workers of one node, with streams that the test reads and counters that it sets.
class WorkerSetFixture {
 protected:
  WorkerSetFixture() {
    spec_.program = DDPRUN_PROBE;
    node_.run.host = "h1";
    node_.paths.run_directory = folder_.path();
  }

  void probes(std::vector<std::string> steps) {
    steps.insert(steps.begin(), "probe");
    spec_.arguments = std::move(steps);
  }
  void shell(const std::string& script) {
    spec_.program = "/bin/sh";
    spec_.arguments = {"sh", "-c", script};
  }
  WorkerSet& set() {
    if (!set_)
      set_.emplace(
          loop_.executor(), spec_, node_, Consoles{out_console_, err_console_},
          [this](const WorkerExited& worker) { ends_.push_back(worker.how); },
          [this] { return oom_; });
    return *set_;
  }
  void start(int round = 1) { set().start({.round = round, .first_rank = 4}); }
  void wait_for_ends(std::size_t count) {
    loop_.run_until([&] { return ends_.size() >= count; }, "workers to end");
  }
  void wait_for_output(const std::string& text) {
    loop_.run_until([&] { return (seen_ += out_.available()).find(text) != std::string::npos; },
                    "the output '" + text + "'");
  }
  void sweep() { loop_.run(set().sweep(), "the end of a sweep"); }
  /// How the only worker of a round ends.
  WorkerFailure end_of_round(int round = 1) {
    ends_.clear();
    start(round);
    wait_for_ends(1);
    sweep();
    return ends_.front();
  }

  const Subreaper subreaper_;
  const ScratchFolder folder_;
  EventLoop loop_;
  Pipe out_, err_;
  Console out_console_{loop_.executor(), out_.writer()};
  Console err_console_{loop_.executor(), err_.writer()};
  LaunchSpec spec_;
  NodeFacts node_;
  OomCounters oom_{.cgroup = 7, .system = 7};
  std::vector<WorkerFailure> ends_;
  std::string seen_;
  std::optional<WorkerSet> set_;
};

TEST_CASE_METHOD(WorkerSetFixture, "the end of every worker is reported, with its rank") {
  spec_.workers = 3;
  probes({"say", "hello", "exit", "${local_rank}"});
  start();
  wait_for_ends(3);
  std::ranges::sort(ends_, {}, &WorkerFailure::rank);
  for (int i = 0; i < 3; ++i) {
    CHECK(ends_[i].rank == 4 + i);
    CHECK(ends_[i].local_rank == i);
    CHECK(ends_[i].host == "h1");
    CHECK(ends_[i].pid > 0);
    CHECK(ends_[i].status == ExitStatus{.code = i});
  }
  CHECK(ends_[0].last_lines.empty());
  CHECK(ends_[1].last_lines == std::vector<std::string>{"hello"});
  sweep();
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(WorkerSetFixture, "an event says when the workers of a round have been started") {
  spec_.workers = 2;
  probes({"sleep"});
  std::vector<RunningWorker> running;
  set().when_started([&] { running = set().running(); });
  start();
  CHECK(running.empty());  // never from within start()
  loop_.run_until([&] { return !running.empty(); }, "the workers' start");
  REQUIRE(running.size() == 2);
  CHECK(running[1].rank == 5);
  CHECK(running[1].local_rank == 1);
  CHECK(running[1].pid > 0);
  sweep();
  CHECK(set().running().empty());
}

TEST_CASE_METHOD(WorkerSetFixture, "a program that is not there ends like in a shell, with 127") {
  spec_.program = "/nonexistent/program";
  probes({});
  start();
  CHECK(ends_.empty());  // never from within start()
  wait_for_ends(1);
  CHECK(ends_.front().status == ExitStatus{.code = 127});
  CHECK_THAT(ends_.front().last_lines.at(0), contains("/nonexistent/program"));
}

TEST_CASE_METHOD(WorkerSetFixture, "a program that may not be run ends with 126") {
  spec_.program = (folder_ / "text").string();
  std::ofstream{spec_.program} << "no program";
  probes({});
  CHECK(end_of_round().status == ExitStatus{.code = 126});
}

TEST_CASE_METHOD(WorkerSetFixture,
                 "a round that cannot be started is reported for each of its workers") {
  spec_.workers = 2;
  probes({"exit", "0"});
  set().start_none({.round = 1}, {Error::Kind::kUnavailable, "no way to the store"});
  CHECK(ends_.empty());
  wait_for_ends(2);
  CHECK(ends_[1].rank == 1);
  CHECK(ends_[1].status == ExitStatus{.code = 126});
  CHECK(ends_[1].last_lines == std::vector<std::string>{"no way to the store"});
}

TEST_CASE_METHOD(WorkerSetFixture, "a signal reaches the whole process group of a worker") {
  shell("trap : TERM; sh -c 'echo ready; exec sleep 20' & wait $!; wait $!; exit 7");
  start();
  wait_for_output("ready");
  set().signal(SIGTERM, true);
  wait_for_ends(1);  // and it waits for its child's end
  CHECK(ends_.front().status == ExitStatus{.code = 7});
}

TEST_CASE_METHOD(WorkerSetFixture, "a checkpoint is asked of a worker, and not of its children") {
  const std::string started = (folder_ / "started").string();
  shell("trap 'kill -TERM $!; wait $!; exit $?' USR1; sh -c 'echo > " + started +
        "; exec sleep 20' & until [ -e " + started + " ]; do :; done; echo ready; wait $!");
  start();
  wait_for_output("ready");
  set().ask_for_checkpoint(SIGUSR1);
  wait_for_ends(1);
  CHECK(ends_.front().status == ExitStatus{.code = 128 + SIGTERM});  // how its child ended
}

TEST_CASE_METHOD(WorkerSetFixture,
                 "what a worker wrote last is reported, however slow the terminal") {
  err_console_.write(std::string(2 * Console::kQueueBytesMax, '.'));  // and nobody reads it
  probes({"write", "2", "last words", "exit", "3"});
  CHECK(end_of_round().last_lines == std::vector<std::string>{"last words"});
}

TEST_CASE_METHOD(WorkerSetFixture, "errors are reported rather than output") {
  probes({"say", "result", "write", "2", "error", "exit", "3"});
  CHECK(end_of_round().last_lines == std::vector<std::string>{"error"});
}

TEST_CASE_METHOD(WorkerSetFixture,
                 "a worker that was killed while memory was short may have had too "
                 "much of it") {
  probes({"raise", std::to_string(SIGKILL)});
  start();
  ++oom_.cgroup;
  wait_for_ends(1);
  CHECK_THAT(ends_.front().evidence, contains("out of memory"));
}

TEST_CASE_METHOD(WorkerSetFixture, "memory is not blamed for other signals and for exit codes") {
  const auto [what, value] = GENERATE(std::pair{"raise", SIGTERM}, std::pair{"exit", 9});
  probes({what, std::to_string(value)});
  start();
  ++oom_.cgroup;
  wait_for_ends(1);
  CHECK(ends_.front().evidence.empty());
}

TEST_CASE_METHOD(WorkerSetFixture, "memory that was short in an earlier round is not blamed") {
  probes({"raise", std::to_string(SIGKILL)});
  end_of_round(1);
  ++oom_.cgroup;
  CHECK(end_of_round(2).evidence.empty());
}

TEST_CASE_METHOD(WorkerSetFixture,
                 "a worker whose timer has expired gets its signal, which is reported") {
  ++spec_.workers;
  shell("exec sleep 1000");
  start();
  const pid_t late = set().process(1).pid;
  set().end_late({.pid = late, .signal = SIGKILL, .scope = "step", .after = 2s});
  wait_for_ends(1);
  CHECK(ends_.front().rank == 5);
  CHECK(ends_.front().status == ExitStatus{.signal = SIGKILL});
  CHECK(ends_.front().evidence == "rank 5's timer 'step' expired after 2 s");
  sweep();
}

TEST_CASE_METHOD(WorkerSetFixture, "a timer of a process below a worker's ends that process") {
  shell("sleep 1000 & echo child $!; wait $!; exit $?");
  start();
  wait_for_output("\n");
  const std::size_t number = seen_.find("child ") + 6;
  const pid_t child = std::stoi(seen_.substr(number));
  set().end_late({.pid = child, .signal = SIGTERM, .scope = "load", .after = 1s});
  wait_for_ends(1);
  CHECK(ends_.front().status == ExitStatus{.code = 128 + SIGTERM});
  CHECK(ends_.front().evidence == "rank 4's timer 'load' expired after 1 s");
  sweep();
}

TEST_CASE_METHOD(WorkerSetFixture, "a timer ends nobody but workers and what is below them") {
  const pid_t stranger = fork();
  if (stranger == 0) {
    std::signal(SIGTERM, SIG_DFL);  // Catch's handler may need a lock that another thread had
    for (;;) pause();
  }
  shell("exec sleep 1000");
  start();
  const pid_t worker = set().process(0).pid;
  set().end_late({.pid = stranger, .signal = SIGKILL, .scope = "x", .after = 1s});
  set().end_late({.pid = worker, .signal = 0, .scope = "x", .after = 1s});
  set().signal(SIGTERM, true);
  wait_for_ends(1);
  CHECK(ends_.front().status == ExitStatus{.signal = SIGTERM});
  CHECK(ends_.front().evidence.empty());
  CHECK(waitpid(stranger, nullptr, WNOHANG) == 0);
  sweep();
}

TEST_CASE_METHOD(WorkerSetFixture, "the exception that a worker recorded is part of its report") {
  shell(R"(echo '{"message": "ValueError: no"}' > $TORCHELASTIC_ERROR_FILE; exit 1)");
  const WorkerFailure how = end_of_round(3);
  CHECK(how.message == "ValueError: no");
  CHECK(how.error_file == (folder_ / "attempt_2/0/error.json").string());
}

TEST_CASE_METHOD(WorkerSetFixture, "of a long traceback the end is reported") {
  const std::string traceback = "begin" + std::string(20'000, '.') + "end";
  std::ofstream{folder_ / "recorded"}
      << R"({"message": {"message": "m", "extraInfo": {"py_callstack": ")" + traceback + R"("}}})";
  shell("cp " + (folder_ / "recorded").string() + " $TORCHELASTIC_ERROR_FILE; exit 1");
  const WorkerFailure how = end_of_round();
  CHECK(how.traceback.size() <= 16 * 1024);
  CHECK_THAT(how.traceback, Catch::Matchers::EndsWith("end"));
}

TEST_CASE_METHOD(WorkerSetFixture, "an exception of any length is reported, with the exit code") {
  std::ofstream{folder_ / "recorded"}
      << R"({"message": "ValueError: )" + std::string(300'000, '.') + R"("})";
  shell("cp " + (folder_ / "recorded").string() + " $TORCHELASTIC_ERROR_FILE; exit 3");
  const WorkerFailure how = end_of_round();
  CHECK(how.status == ExitStatus{.code = 3});
  CHECK_THAT(how.message, Catch::Matchers::StartsWith("ValueError: ..."));
  CHECK(encode(AgentMessage{WorkerFailed{1, how}}).size() < kLineBytesMax);
}

TEST_CASE_METHOD(WorkerSetFixture, "the record of an earlier worker is not taken for a new one's") {
  shell(R"(echo '{"message": "old"}' > $TORCHELASTIC_ERROR_FILE; exit 1)");
  REQUIRE(end_of_round().message == "old");
  shell("exit 1");  // in a round of the same number, as after the restart of a server
  const WorkerFailure how = end_of_round();
  CHECK(how.message.empty());
  CHECK(how.error_file.empty());
}

TEST_CASE_METHOD(WorkerSetFixture, "a sweep ends what workers left behind, and their output") {
  probes({"orphan", "say", "left it", "exit", "0"});
  start();
  wait_for_output("left it");
  wait_for_ends(1);
  CHECK(has_children());
  sweep();
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(WorkerSetFixture, "what ignores SIGTERM is waited for until its time is over") {
  shell("sh -c 'trap \"\" TERM; echo left it; exec sleep 1000' & sleep 1000");
  start();
  wait_for_output("left it");
  ::kill(set().process(0).pid, SIGKILL);
  wait_for_ends(1);
  asio::steady_timer timer{loop_.executor(), 1s};
  timer.async_wait([&](const auto&) { set().kill_leftovers(); });
  sweep();
  CHECK(timer.expiry() <= Clock::now());
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(WorkerSetFixture, "what has missed SIGTERM gets another one") {
  shell(
      "sh -c 'trap \"trap - TERM; echo missed it; exec sleep 1000\" TERM; echo left it; "
      "while :; do sleep 0.01; done' & sleep 1000");
  start();
  wait_for_output("left it");
  set().signal(SIGTERM, /*to_stop=*/true);
  wait_for_output("missed it");
  wait_for_ends(1);
  sweep();
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(WorkerSetFixture, "its time may be over before a sweep has begun") {
  shell("sh -c 'trap \"\" TERM; echo left it; exec sleep 1000' & sleep 1000");
  start();
  wait_for_output("left it");
  ::kill(set().process(0).pid, SIGKILL);
  wait_for_ends(1);
  set().kill_leftovers();
  sweep();
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(WorkerSetFixture, "a sweep spares the guardian") {
  Pipe pipe;
  node_.guardian = start_plainly({"sleep"}, pipe);
  probes({"exit", "0"});
  end_of_round();
  CHECK(is_child(node_.guardian));
  kill(node_.guardian, SIGKILL);
}

}  // namespace
}  // namespace ddprun
