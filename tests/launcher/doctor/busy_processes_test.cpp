#include "launcher/doctor/read/busy_processes.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two looks half a second apart at a process that was there for long.
struct Looks {
  ProcessesLook before{.at = 1000s, .processes = {{.pid = 7, .name = "busy", .cpu = 100ms}}};
  ProcessesLook after{.at = 1000s + 500ms, .processes = {{.pid = 7, .name = "busy", .cpu = 600ms}}};

  std::vector<BusyProcess> busy(const std::vector<int>& usable = {0, 1}) const {
    return busy_processes(before, after, usable);
  }
};

TEST_CASE("a process that works all the time uses a CPU") {
  const auto busy = Looks{}.busy();
  REQUIRE(busy.size() == 1);
  CHECK(busy[0].name == "busy");
  CHECK(busy[0].cpus == 1.0);
}

TEST_CASE("the busiest process comes first") {
  Looks looks;
  looks.before.processes.push_back({.pid = 8, .name = "busier"});
  looks.after.processes.push_back({.pid = 8, .name = "busier", .cpu = 2s});
  REQUIRE(looks.busy().size() == 2);
  CHECK(looks.busy()[0].name == "busier");
}

TEST_CASE("processes that are idle, young, new or on other CPUs do not count") {
  Looks idle;
  idle.after.processes[0].cpu = 140ms;
  CHECK(idle.busy().empty());
  Looks young;
  young.before.processes[0].started = young.after.processes[0].started = 999s;
  CHECK(young.busy().empty());
  Looks reused;  // its process id has gone to another process
  reused.after.processes[0].started = 500s;
  CHECK(reused.busy().empty());
  Looks fresh;
  fresh.before.processes.clear();
  CHECK(fresh.busy().empty());
  CHECK(Looks{}.busy({1}).empty());
}

TEST_CASE("two looks at the same moment show nothing") {
  Looks looks;
  looks.after.at = looks.before.at;
  CHECK(looks.busy().empty());
}

}  // namespace
}  // namespace ddprun
