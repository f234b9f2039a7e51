// An agent beside a real coordinator, both in this process, with workers that are shell scripts.
#include "agent/agent.hpp"

#include <csignal>

#include "rendezvous/service/server.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/probes.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class AgentFixture {
 protected:
  AgentFixture() {
    spec_.program = "/bin/sh";
    node_.run = {.run_id = "job", .host = "h1"};
  }
  ~AgentFixture() {
    if (server_) server_->close();
    loop_.poll();
  }

  void workers_run(const std::string& script) { spec_.arguments = {"sh", "-c", script}; }

  void begin() {
    auto server = Server::listen(loop_.executor(), coordinator_rules(spec_, node_.run.run_id),
                                 asio::ip::address_v4::loopback(), 0);
    REQUIRE(server.has_value());
    server_ = std::move(*server);
    server_->start();
    node_.run.coordinator = {"127.0.0.1", server_->port()};
    node_.run.coordinator_here = true;
    begin_alone();
  }
  void begin_alone() {
    agent_.emplace(loop_.executor(), spec_, node_,
                   AgentServices{.consoles = {out_console_, err_console_},
                                 .coordinator = own_,
                                 .events = events_,
                                 .trainings = trainings_,
                                 .staying = staying_,
                                 .timers = timers_});
    asio::co_spawn(loop_.executor(), agent_->run(),
                   [this](const std::exception_ptr& failure, AgentEnd how) {
                     CHECK(!failure);
                     end_ = std::move(how);
                   });
  }
  AgentEnd ends() {
    loop_.run_until([&] { return end_.has_value(); }, "the agent's end");
    CHECK_FALSE(has_children());
    return *end_;
  }
  void wait_for_output(const std::string& text) {
    loop_.run_until([&] { return (seen_ += out_.available()).find(text) != std::string::npos; },
                    "the output '" + text + "'");
  }

  const Subreaper subreaper_;
  const CapturedLog log_;
  EventLoop loop_;
  Pipe out_, err_;
  Console out_console_{loop_.executor(), out_.writer()};
  Console err_console_{loop_.executor(), err_.writer()};
  LaunchSpec spec_;
  NodeFacts node_;
  LocalCoordinator own_;
  EventLog events_;
  TrainerEndpoint trainings_{loop_.executor(), 1};
  WorkerSocket staying_{loop_.executor(), 1};
  TimerPipe timers_{loop_.executor()};
  std::unique_ptr<Server> server_;
  std::optional<Agent> agent_;
  std::optional<AgentEnd> end_;
  std::string seen_;
};

TEST_CASE_METHOD(AgentFixture, "a job whose workers all succeed has finished") {
  spec_.workers = 2;
  workers_run("echo rank $RANK of $WORLD_SIZE, $MASTER_ADDR");
  begin();
  const AgentEnd end = ends();
  CHECK(end.why == AgentEnd::Why::kJobEnded);
  CHECK(end.job.outcome == EndJob::Outcome::kFinished);
  wait_for_output("rank 1 of 2, 127.0.0.1\n");
  CHECK(agent_->outcome().failures.empty());
}

TEST_CASE_METHOD(AgentFixture,
                 "the first failure ends a job without restarts, and its other worker") {
  spec_.workers = 2;
  workers_run("if [ $RANK = 0 ]; then echo broken >&2; exit 3; fi; exec sleep 20");
  begin();
  const AgentEnd end = ends();
  REQUIRE(end.job.failure.has_value());
  CHECK(end.job.outcome == EndJob::Outcome::kFailed);
  CHECK(end.job.failure->rank == 0);
  CHECK(end.job.failure->status == ExitStatus{.code = 3});
  CHECK(end.job.failure->last_lines == std::vector<std::string>{"broken"});
  CHECK(agent_->outcome().failures.size() == 1);
  CHECK(agent_->outcome().stopped.count(1) == 1);
}

TEST_CASE_METHOD(AgentFixture, "a failed round is started again, and the user is informed") {
  spec_.terms.restarts_max = 2;
  workers_run("exit $((1 - TORCHELASTIC_RESTART_COUNT))");
  begin();
  const AgentEnd end = ends();
  CHECK(end.job.outcome == EndJob::Outcome::kFinished);
  CHECK(end.job.restarts == 1);
  CHECK_THAT(log_.text(), contains("warning: restart 1 of 2: starting 1 worker again"));
}

TEST_CASE_METHOD(AgentFixture, "what a worker left behind is reaped while the worker runs on") {
  workers_run(
      "orphan=$( (sh -c 'echo $$' &) ); while [ -e /proc/$orphan ]; do sleep 0.01; done;"
      "echo $orphan is gone; exit 3");
  begin();
  const AgentEnd end = ends();
  wait_for_output(" is gone\n");
  REQUIRE(end.job.failure.has_value());
  CHECK(end.job.failure->status == ExitStatus{.code = 3});
}

TEST_CASE_METHOD(AgentFixture, "a stop signal goes to the workers and ends the agent") {
  workers_run("trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  begin();
  wait_for_output("ready");
  raise(SIGTERM);
  const AgentEnd end = ends();
  CHECK(end.why == AgentEnd::Why::kStopSignal);
  CHECK(end.signal == SIGTERM);
  wait_for_output("told");
}

TEST_CASE_METHOD(AgentFixture, "a signal that is not for ddprun is the workers' affair") {
  workers_run("trap 'exit 0' USR2; echo ready; while :; do sleep 0.01; done");
  begin();
  wait_for_output("ready");
  raise(SIGUSR2);
  CHECK(ends().job.outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(AgentFixture, "an announced end lets workers write a checkpoint") {
  spec_.preemption.signals = {SIGTERM};
  workers_run("trap 'echo saved; exit 0' USR1; echo ready; while :; do sleep 0.01; done");
  begin();
  wait_for_output("ready");
  raise(SIGTERM);
  CHECK(ends().job.outcome == EndJob::Outcome::kPreempted);
  wait_for_output("saved");
}

TEST_CASE_METHOD(AgentFixture, "workers meet in a store that their own agent hands on") {
  spec_.terms.store = StoreAt::kLocal;
  workers_run("echo store at $MASTER_ADDR $MASTER_PORT");
  begin();
  CHECK(ends().job.outcome == EndJob::Outcome::kFinished);
  wait_for_output("store at 127.0.0.1 ");
  CHECK(seen_.find(" " + std::to_string(server_->port()) + "\n") == std::string::npos);
}

TEST_CASE_METHOD(AgentFixture, "an agent whose coordinator never comes gives it up") {
  node_.run.coordinator = {"127.0.0.1", 1};
  spec_.terms.join_timeout = 20ms;
  workers_run("exit 0");
  begin_alone();
  const AgentEnd end = ends();
  CHECK(end.why == AgentEnd::Why::kNoCoordinator);
  CHECK_THAT(end.message, contains("cannot reach the coordinator at 127.0.0.1:1: "));
}

}  // namespace
}  // namespace ddprun
