// Starts of real fork servers that overtake each other, or that nobody wants any more.
#include <poll.h>

#include <chrono>
#include <thread>

#include "base/process/process_tree.hpp"
#include "tests/agent/workers/fork_server_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE("fork server: workers that nobody wants any more are not started") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.module("library.py", "import time\ntime.sleep(20)\n");
  f.script("import library\n");
  f.begin();
  bool unwanted = false;
  std::optional<std::vector<Result<ChildProcess>>> started;
  const auto spawn = [&]() -> asio::awaitable<void> {
    const std::vector<NewChild> children{{probe({"sleep"})}, {probe({"sleep"})}};
    auto result = co_await f.fork_server->spawn(children, [&unwanted] { return unwanted; });
    started.emplace(std::move(result));
  };
  asio::co_spawn(f.loop.executor(), spawn(), [](const std::exception_ptr&) {});
  f.loop.poll();
  CHECK_FALSE(started.has_value());
  unwanted = true;
  f.fork_server->look_again();
  f.loop.run_until([&] { return started.has_value(); }, "the answer");
  REQUIRE(started->size() == 2);
  for (const auto& one : *started) {
    REQUIRE_FALSE(one.has_value());
    CHECK(one.error().kind == Error::Kind::kUnavailable);
  }
}

/// The workers of one start, which each write START into a pipe of their own.
struct OneStart {
  ForkServerFixture& f;
  std::string name;
  std::vector<Pipe> outs = std::vector<Pipe>(2);
  bool unwanted = false;
  std::optional<std::vector<Result<ChildProcess>>> processes = {};

  asio::awaitable<void> spawn() {
    std::vector<Command> commands = plan_workers(
        f.spec, {.group_world_size = 1, .world_size = 2, .role_world_size = 2}, f.node);
    std::vector<NewChild> children;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      commands[i].environment.push_back("START=" + name);
      children.push_back({commands[i], {.out = outs[i].writer(), .err = outs[i].writer()}});
    }
    auto started = co_await f.fork_server->spawn(std::move(children), [this] { return unwanted; });
    processes.emplace(std::move(started));
  }
  void begin() {
    asio::co_spawn(f.loop.executor(), spawn(), [](const std::exception_ptr&) {});
    f.loop.poll();
  }
  std::string text_of(std::size_t worker) {
    return outs[worker].rest("the end of a worker of start " + name);
  }
};

TEST_CASE(
    "fork server: of starts that overtake each other, the last one has its own workers, and no "
    "other "
    "lives") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.script(
      "import os, time\n"
      "print(os.environ['START'], os.environ['RANK'], flush=True)\n"
      "while os.environ['START'] != 'third': time.sleep(1)\n");
  OneStart warm_up{f, "third"};
  f.begin();
  warm_up.begin();
  f.loop.run_until([&] { return warm_up.processes.has_value(); }, "the fork server");

  OneStart first{f, "first"}, second{f, "second"}, third{f, "third"};
  first.begin();  // its workers are being forked
  first.unwanted = true;
  second.begin();
  second.unwanted = true;
  third.begin();
  f.loop.run_until([&] { return third.processes.has_value(); }, "the last start");
  for (std::size_t worker = 0; worker < 2; ++worker) {
    REQUIRE((*third.processes)[worker].has_value());
    CHECK(third.text_of(worker) == "third " + std::to_string(worker) + "\n");
    CHECK(f.loop.run((*third.processes)[worker]->wait(), "a worker's end") == ExitStatus{});
  }
  for (OneStart* overtaken : {&first, &second}) {
    REQUIRE(overtaken->processes.has_value());
    for (std::size_t worker = 0; worker < 2; ++worker) {
      CHECK_FALSE((*overtaken->processes)[worker].has_value());
      overtaken->text_of(worker);  // it ends when they are dead
    }
  }
}

/// Waits until this process has that many children.
void await_children(std::size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (children_but({}).size() < count) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("waited in vain for children");
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

TEST_CASE("fork server: workers that nobody wants any more when they are there run nothing") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.script("import os\nprint(os.environ['START'], flush=True)\n");
  OneStart warm_up{f, "warm up"};
  f.begin();
  warm_up.begin();
  f.loop.run_until([&] { return warm_up.processes.has_value(); }, "the fork server");
  for (const auto& process : *warm_up.processes) REQUIRE(process.has_value());
  warm_up.processes.reset();

  OneStart start{f, "not wanted"};
  start.begin();      // they are being forked, and nobody hears of it yet
  await_children(3);  // with the fork server
  start.unwanted = true;
  pollfd said{start.outs[0].reader(), POLLIN, 0};
  CHECK(poll(&said, 1, 300) == 0);
  f.loop.run_until([&] { return start.processes.has_value(); }, "the start");
  for (std::size_t worker = 0; worker < 2; ++worker) CHECK(start.text_of(worker).empty());
}

}  // namespace
}  // namespace ddprun
