// Real nurseries, with the python3 of PATH; without one these tests are skipped with a warning.
#include "agent/workers/nursery.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/system/own_process.hpp"
#include "tests/agent/probes.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

/// The path of the interpreter that `python` starts; "" when there is none, or it is too old or has
/// no `modules` ("import a, b").
std::string find_python(const std::string& python, const std::string& modules) {
  const std::string program = "import sys; sys.version_info >= (3, 9) or sys.exit(1); " + modules +
                              "; print(sys.executable)";
  FILE* pipe = popen((python + " -c '" + program + "' 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string path;
  for (int c = 0; (c = fgetc(pipe)) != EOF && c != '\n';) path += static_cast<char>(c);
  return pclose(pipe) == 0 ? path : "";
}

std::string python3() {
  static const std::string path = find_python("python3", "import ctypes");
  if (path.empty()) WARN("skipped: there is no python3");
  if (path.empty()) SUCCEED();
  return path;
}

using Variables = std::map<std::string, std::string>;

/// A nursery and what its workers need: a folder with the script and its modules.
struct NurseryFixture {
  CapturedLog log;
  Subreaper adopts_workers;
  ScratchFolder folder;
  EventLoop loop;
  SpawnPool pool{1};
  std::string python;
  LaunchSpec spec;
  NodeFacts node;
  std::optional<Nursery> nursery;

  explicit NurseryFixture(std::string interpreter) : python{std::move(interpreter)} {
    std::filesystem::create_directory(folder / "lib");
    node.environment = {"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1",
                        "PYTHONPATH=" + (folder / "lib").string()};
    spec.program = python;
    spec.arguments = {python, "-u", folder / "train.py", "an argument"};
    spec.workers = 2;
    spec.warm = WarmStart{};
  }
  /// A module that the nursery may import.
  void module(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder / "lib" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  void script(const std::string& text) const { std::ofstream{folder / "train.py"} << text; }

  void begin() {
    nursery.emplace(loop.executor(), pool, plan_nursery(spec, node));
    nursery->begin();
  }

  struct Ended {
    std::string text;
    ExitStatus status;
  };

  /// Starts a round's workers, with those variables, and waits for their ends; by local rank.
  std::vector<Ended> round(const Variables& variables = {}) {
    if (!nursery) begin();
    std::vector<Command> commands =
        plan_workers(spec, {.group_world_size = 1, .world_size = 2, .role_world_size = 2}, node);
    std::vector<Pipe> outs(commands.size());
    std::vector<NewChild> children;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      for (const auto& [name, value] : variables)
        commands[i].environment.push_back(name + "=" + value);
      children.push_back({commands[i], {.out = outs[i].writer(), .err = outs[i].writer()}});
    }
    auto work = nursery->spawn(children, [] { return false; });
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

/// Says whether the module was there before the script asked for it.
constexpr char kWarmOrCold[] =
    "import sys\nwarm = 'library' in sys.modules\nimport library\nprint('warm' if warm else "
    "'cold')\n";

/// What a worker says of itself.
constexpr char kTellAll[] = R"py(
import ctypes, os, sys
import library
deathsig = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(deathsig), 0, 0, 0)
files = [int(name) for name in os.listdir("/proc/self/fd")]
print("argument", sys.argv[1])
print("place", os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"])
print("imported by", library.pid != os.getpid() and "another")
print("parent", os.getppid())
print("deathsig", deathsig.value)
print("session", os.getsid(0) == os.getpid())
print("files", [number for number in files if os.path.exists(f"/proc/self/fd/{number}")])
)py";

TEST_CASE("nursery: workers are forked, and are their agent's own all the same") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "import os\npid = os.getpid()\n");
  f.script(kTellAll);
  const auto workers = f.round();
  for (int rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    CHECK(workers[rank].text == "argument an argument\nplace " + number + " " + number +
                                    " 2\nimported by another\nparent " + std::to_string(getpid()) +
                                    "\ndeathsig " + std::to_string(SIGKILL) +
                                    "\nsession True\nfiles [0, 1, 2]\n");
  }
  CHECK_THAT(f.log.text(), contains("imported ctypes, os, sys, library in"));
}

TEST_CASE("nursery: every round sees its own environment") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.node.environment.push_back("EDITED=before");
  f.script(
      "import ctypes, os\nin_c = ctypes.CDLL(None).getenv\nin_c.restype = ctypes.c_char_p\n"
      "print(os.environ['EDITED'], in_c(b'EDITED').decode(), os.environ['ROUND'], "
      "os.environ.get('ONCE', 'never'), type(os.environ).__name__)\n");
  CHECK(f.round({{"ROUND", "1"}, {"EDITED", "Z\xC3\xA9"}, {"ONCE", "here"}})[0].text ==
        "Z\xC3\xA9 Z\xC3\xA9 1 here _Environ\n");
  CHECK(f.round({{"ROUND", "2"}})[1].text == "before before 2 never _Environ\n");
}

TEST_CASE("nursery: a module that starts a thread is left to the workers") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "");
  f.module(
      "threaded.py",
      "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n");
  f.script(std::string{"import threaded\n"} + kWarmOrCold);
  for (const auto& worker : f.round()) CHECK(worker.text == "warm\n");
  CHECK_THAT(f.log.text(),
             contains("warning: --warm: threaded is left to every worker to import: it leaves 1 "
                      "thread running\n"));
}

TEST_CASE("nursery: a module that asks for its worker's place is left to the workers") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "");
  f.module("placed.py", "import os\nrank = os.environ.get('RANK')\n");
  f.script(std::string{"import placed\nprint(placed.rank)\n"} + kWarmOrCold);
  CHECK(f.round()[1].text == "1\nwarm\n");
  CHECK_THAT(f.log.text(), contains("placed is left to every worker to import: placed reads RANK"));
}

TEST_CASE("nursery: a module that leaves a file open, or a process, is left to the workers") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "");
  f.module("opens.py", "file = open(__file__)\n");
  f.module("forks.py",
           "import os, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\n");
  f.spec.warm->modules = {"opens", "forks", "library"};
  f.script(kWarmOrCold);
  for (const auto& worker : f.round()) CHECK(worker.text == "warm\n");
  CHECK_THAT(f.log.text(), contains("opens is left to every worker to import: it leaves /"));
  CHECK_THAT(f.log.text(), contains("forks is left to every worker to import: it leaves a child"));
}

TEST_CASE("nursery: every worker's random numbers are its own") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("numpy/__init__.py", "from . import random\n");
  f.module("numpy/random.py", "seeds = 0\ndef seed():\n    global seeds\n    seeds += 1\n");
  f.module("torch/__init__.py",
           "from . import cuda\nclass Generator:\n    seeds = 0\n    def seed(self):\n"
           "        self.seeds += 1\ndefault_generator = Generator()\n");
  f.module("torch/cuda.py", "def is_initialized():\n    return False\n");
  f.script(
      "import multiprocessing.process, random\nimport numpy, torch\n"
      "print(numpy.random.seeds, torch.default_generator.seeds)\n"
      "print(random.random(), multiprocessing.process.current_process().authkey.hex())\n");
  const auto workers = f.round();
  for (const auto& worker : workers) CHECK(worker.text.substr(0, 4) == "1 1\n");
  std::istringstream one{workers[0].text.substr(4)}, other{workers[1].text.substr(4)};
  for (std::string mine, others; one >> mine && other >> others;) CHECK(mine != others);
}

TEST_CASE("nursery: the numbers of the real NumPy are every worker's own, too") {
  const std::string python = find_python(DDPRUN_TORCH_PYTHON,
                                         "import importlib.util as u; "
                                         "u.find_spec(\"numpy\") or "
                                         "sys.exit(1)");
  if (python.empty()) {
    WARN("skipped: there is no NumPy at '" << DDPRUN_TORCH_PYTHON << "'");
    SUCCEED();
    return;
  }
  NurseryFixture f{python};
  f.spec.warm->modules = {"numpy", "numpy.random"};
  f.script("import numpy\nprint(numpy.random.random(), numpy.random.bytes(8).hex())\n");
  const auto workers = f.round();
  CHECK_FALSE(workers[0].text.empty());
  CHECK(workers[0].text != workers[1].text);
}

TEST_CASE("nursery: one that dies while it imports leaves the workers to start the ordinary way") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py",
           "import os\nif open('/proc/self/comm').read() == 'dpr-nursery\\n':\n"
           "    os.kill(os.getpid(), 9)\n");
  f.script(kWarmOrCold);
  for (const auto& worker : f.round()) CHECK(worker.text == "cold\n");
  CHECK_THAT(f.log.text(),
             contains("warning: --warm: the fork server was killed by SIGKILL (signal "
                      "9): workers of this round start the ordinary way\n"));
}

TEST_CASE("nursery: one that dies when it was ready is followed by another") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "");
  f.script(kWarmOrCold);
  CHECK(f.round()[0].text == "warm\n");
  const pid_t first = f.nursery->pid();
  REQUIRE(first > 0);
  kill(first, SIGKILL);
  f.loop.run_until([&] { return f.nursery->pid() != first; }, "another nursery");
  CHECK(f.nursery->pid() > 0);
  CHECK(f.round()[0].text == "warm\n");
  CHECK_THAT(f.log.text(), contains("starting another"));
}

TEST_CASE("nursery: where the script has a module of the interpreter's name there is none") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "");
  std::ofstream{f.folder / "socket.py"} << "";
  f.script(kWarmOrCold);
  CHECK(f.round()[0].text == "cold\n");
  CHECK(f.nursery->pid() == -1);
  CHECK_THAT(f.log.text(), contains("warning: --warm has no effect: the script's folder has a "
                                    "module 'socket' of its own; workers start the ordinary way"));
}

TEST_CASE("nursery: a program that is not there has no effect but a word") {
  NurseryFixture f{"/nonexistent/python"};
  f.begin();
  f.nursery->begin();
  CHECK(f.nursery->pid() == -1);
  CHECK(f.log.text() ==
        "warning: --warm has no effect: cannot start '/nonexistent/python': No such "
        "file or directory; workers start the ordinary way\n");
}

TEST_CASE("nursery: workers that nobody wants any more are not started") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
  f.module("library.py", "import time\ntime.sleep(20)\n");
  f.script(kWarmOrCold);
  f.begin();
  bool unwanted = false;
  std::optional<std::vector<Result<ChildProcess>>> started;
  const auto spawn = [&]() -> asio::awaitable<void> {
    const std::vector<NewChild> children{{probe({"sleep"})}, {probe({"sleep"})}};
    auto result = co_await f.nursery->spawn(children, [&unwanted] { return unwanted; });
    started.emplace(std::move(result));
  };
  asio::co_spawn(f.loop.executor(), spawn(), [](const std::exception_ptr&) {});
  f.loop.poll();
  CHECK_FALSE(started.has_value());
  unwanted = true;
  f.nursery->look_again();
  f.loop.run_until([&] { return started.has_value(); }, "the answer");
  REQUIRE(started->size() == 2);
  for (const auto& one : *started) {
    REQUIRE_FALSE(one.has_value());
    CHECK(one.error().kind == Error::Kind::kUnavailable);
  }
}

/// The workers of one start, which each write START into a pipe of their own.
struct OneStart {
  NurseryFixture& f;
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
    auto started = co_await f.nursery->spawn(std::move(children), [this] { return unwanted; });
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
    "nursery: of starts that overtake each other, the last one has its own workers, and no other "
    "lives") {
  if (python3().empty()) return;
  NurseryFixture f{python3()};
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

TEST_CASE("nursery: its end leaves neither processes nor files") {
  if (python3().empty()) return;
  const std::size_t files_before = count_open_files();
  {
    NurseryFixture f{python3()};
    f.script("import json\n");
    f.round();
    const pid_t pid = f.nursery->pid();
    REQUIRE(pid > 0);
    f.nursery->end();
    CHECK(f.nursery->pid() == -1);
    waitpid(pid, nullptr, 0);
    CHECK(kill(pid, 0) == -1);
  }
  CHECK(count_open_files() == files_before);
}

}  // namespace
}  // namespace ddprun
