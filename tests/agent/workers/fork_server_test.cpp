// Real fork servers, with the python3 of PATH; without one these tests are skipped with a warning.
#include <sys/wait.h>

#include <sstream>

#include "base/system/own_process.hpp"
#include "tests/agent/workers/fork_server_fixture.hpp"

namespace ddprun {
namespace {

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
files = [f"/proc/self/fd/{number}" for number in files]
own = [file for file in files if os.path.exists(file) and "libffi" not in os.readlink(file)]
print("files", [int(os.path.basename(file)) for file in own])
)py";

TEST_CASE("fork server: workers are forked, and are their agent's own all the same") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
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

TEST_CASE("fork server: every round sees its own environment") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.node.machine.environment.push_back("EDITED=before");
  f.script(
      "import ctypes, os\nin_c = ctypes.CDLL(None).getenv\nin_c.restype = ctypes.c_char_p\n"
      "print(os.environ['EDITED'], in_c(b'EDITED').decode(), os.environ['ROUND'], "
      "os.environ.get('ONCE', 'never'), type(os.environ).__name__)\n");
  CHECK(f.round({{"ROUND", "1"}, {"EDITED", "Z\xC3\xA9"}, {"ONCE", "here"}})[0].text ==
        "Z\xC3\xA9 Z\xC3\xA9 1 here _Environ\n");
  CHECK(f.round({{"ROUND", "2"}})[1].text == "before before 2 never _Environ\n");
}

TEST_CASE("fork server: a module that starts a thread is left to the workers") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
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

TEST_CASE("fork server: a module that asks for its worker's place is left to the workers") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.module("library.py", "");
  f.module("placed.py", "import os\nrank = os.environ.get('RANK')\n");
  f.script(std::string{"import placed\nprint(placed.rank)\n"} + kWarmOrCold);
  CHECK(f.round()[1].text == "1\nwarm\n");
  CHECK_THAT(f.log.text(), contains("placed is left to every worker to import: placed reads RANK"));
}

TEST_CASE("fork server: a module that leaves a file open, or a process, is left to the workers") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
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

TEST_CASE("fork server: every worker's random numbers are its own") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
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

TEST_CASE("fork server: the numbers of the real NumPy are every worker's own, too") {
  const std::string python = find_python(DDPRUN_TORCH_PYTHON,
                                         "import importlib.util as u; "
                                         "u.find_spec(\"numpy\") or "
                                         "sys.exit(1)");
  if (python.empty()) {
    WARN("skipped: there is no NumPy at '" << DDPRUN_TORCH_PYTHON << "'");
    SUCCEED();
    return;
  }
  ForkServerFixture f{python};
  f.spec.warm->modules = {"numpy", "numpy.random"};
  f.script("import numpy\nprint(numpy.random.random(), numpy.random.bytes(8).hex())\n");
  const auto workers = f.round();
  CHECK_FALSE(workers[0].text.empty());
  CHECK(workers[0].text != workers[1].text);
}

TEST_CASE(
    "fork server: one that dies while it imports leaves the workers to start the ordinary way") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.module("library.py",
           "import os\nif open('/proc/self/comm').read() == 'dpr-nursery\\n':\n"
           "    os.kill(os.getpid(), 9)\n");
  f.script(kWarmOrCold);
  for (const auto& worker : f.round()) CHECK(worker.text == "cold\n");
  CHECK_THAT(f.log.text(),
             contains("warning: --warm: the fork server was killed by SIGKILL (signal "
                      "9): workers of this round start the ordinary way\n"));
}

TEST_CASE("fork server: one that dies when it was ready is followed by another") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.module("library.py", "");
  f.script(kWarmOrCold);
  CHECK(f.round()[0].text == "warm\n");
  const pid_t first = f.fork_server->pid();
  REQUIRE(first > 0);
  kill(first, SIGKILL);
  f.loop.run_until([&] { return f.fork_server->pid() != first; }, "another fork server");
  CHECK(f.fork_server->pid() > 0);
  CHECK(f.round()[0].text == "warm\n");
  CHECK_THAT(f.log.text(), contains("starting another"));
}

TEST_CASE("fork server: where the script has a module of the interpreter's name there is none") {
  if (python3().empty()) return;
  ForkServerFixture f{python3()};
  f.module("library.py", "");
  std::ofstream{f.folder / "socket.py"} << "";
  f.script(kWarmOrCold);
  CHECK(f.round()[0].text == "cold\n");
  CHECK(f.fork_server->pid() == -1);
  CHECK_THAT(f.log.text(), contains("warning: --warm has no effect: the script's folder has a "
                                    "module 'socket' of its own; workers start the ordinary way"));
}

TEST_CASE("fork server: a program that is not there has no effect but a word") {
  ForkServerFixture f{"/nonexistent/python"};
  f.begin();
  f.fork_server->begin();
  CHECK(f.fork_server->pid() == -1);
  CHECK(f.log.text() ==
        "warning: --warm has no effect: cannot start '/nonexistent/python': No such "
        "file or directory; workers start the ordinary way\n");
}

TEST_CASE("fork server: its end leaves neither processes nor files") {
  if (python3().empty()) return;
  const std::size_t files_before = count_open_files();
  {
    ForkServerFixture f{python3()};
    f.script("import json\n");
    f.round();
    const pid_t pid = f.fork_server->pid();
    REQUIRE(pid > 0);
    f.fork_server->end();
    CHECK(f.fork_server->pid() == -1);
    waitpid(pid, nullptr, 0);
    CHECK(kill(pid, 0) == -1);
  }
  CHECK(count_open_files() == files_before);
}

}  // namespace
}  // namespace ddprun
