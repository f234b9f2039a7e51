// What tests of real fork servers share. They need the python3 of PATH, and warn where there is
// none.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/workers/fork_server.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {

/// The path of the interpreter that `python` starts; "" when there is none, or it is too old or has
/// no `modules` ("import a, b").
inline std::string find_python(const std::string& python, const std::string& modules) {
  const std::string program = "import sys; sys.version_info >= (3, 9) or sys.exit(1); " + modules +
                              "; print(sys.executable)";
  FILE* pipe = popen((python + " -c '" + program + "' 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string path;
  for (int c = 0; (c = fgetc(pipe)) != EOF && c != '\n';) path += static_cast<char>(c);
  return pclose(pipe) == 0 ? path : "";
}

inline std::string python3() {
  static const std::string path = find_python("python3", "import ctypes");
  if (path.empty()) WARN("skipped: there is no python3");
  if (path.empty()) SUCCEED();
  return path;
}

using Variables = std::map<std::string, std::string>;

/// A fork server and what its workers need: a folder with the script and its modules.
struct ForkServerFixture {
  CapturedLog log;
  Subreaper adopts_workers;
  ScratchFolder folder;
  EventLoop loop;
  SpawnPool pool{1};
  std::string python;
  LaunchSpec spec;
  NodeFacts node;
  std::optional<ForkServer> fork_server;

  explicit ForkServerFixture(std::string interpreter) : python{std::move(interpreter)} {
    std::filesystem::create_directory(folder / "lib");
    node.machine.environment = {"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1",
                                "PYTHONPATH=" + (folder / "lib").string()};
    spec.program = python;
    spec.arguments = {python, "-u", folder / "train.py", "an argument"};
    spec.workers = 2;
    spec.warm = WarmStart{};
  }
  /// A module that the fork server may import.
  void module(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder / "lib" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  void script(const std::string& text) const { std::ofstream{folder / "train.py"} << text; }

  void begin() {
    fork_server.emplace(loop.executor(), pool, plan_fork_server(spec, node));
    fork_server->begin();
  }

  struct Ended {
    std::string text;
    ExitStatus status;
  };

  /// Starts a round's workers, with those variables, and waits for their ends; by local rank.
  std::vector<Ended> round(const Variables& variables = {}) {
    if (!fork_server) begin();
    std::vector<Command> commands =
        plan_workers(spec, {.group_world_size = 1, .world_size = 2, .role_world_size = 2}, node);
    std::vector<Pipe> outs(commands.size());
    std::vector<NewChild> children;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      for (const auto& [name, value] : variables)
        commands[i].environment.push_back(name + "=" + value);
      children.push_back({commands[i], {.out = outs[i].writer(), .err = outs[i].writer()}});
    }
    auto work = fork_server->spawn(children, [] { return false; });
    auto started = loop.run(std::move(work), "the start of the workers");
    REQUIRE(started.size() == commands.size());
    std::vector<Ended> ended;
    for (std::size_t i = 0; i < started.size(); ++i) {
      if (!started[i]) FAIL(started[i].error().message);
      const std::string text = outs[i].rest("the end of a worker's output");
      ended.push_back({text, loop.run(started[i]->wait(), "a worker's end")});
      CHECK(ended.back().status == ExitStatus{});
      started[i]->release();
    }
    return ended;
  }
};

}  // namespace ddprun
