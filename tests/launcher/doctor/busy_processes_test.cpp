#include "launcher/doctor/busy_processes.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

// As /proc/PID/stat of Linux 6.1 has it, but for the name.
constexpr char kStat[] =
    "4711 (a (b) c) R 1 4711 4711 0 -1 4194304 119 0 0 0 830 12 0 0 20 0 1 0 5000 2654208 205 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0";

TEST_CASE("the times of a process are read, whatever its name is") {
  const auto times = parse_process_times(kStat);
  REQUIRE(times.has_value());
  CHECK(times->pid == 4711);
  CHECK(times->name == "a (b) c");
  CHECK(times->used == 842);
  CHECK(times->started == 5000);
  CHECK(times->cpu == 3);
}

TEST_CASE("what is no process has no times") {
  for (const char* text : {"", "(", ")(", "x (y) R 1", "1 (y) R 1 2 3"})
    CHECK_FALSE(parse_process_times(text).has_value());
}

/// Two looks half a second apart, at 100 ticks a second, at a process that was there for long.
struct Looks {
  ProcessesLook before{.at = 100'000, .processes = {{.pid = 7, .name = "busy", .used = 10}}};
  ProcessesLook after{.at = 100'050, .processes = {{.pid = 7, .name = "busy", .used = 60}}};

  std::vector<BusyProcess> busy(const std::vector<int>& usable = {0, 1}) const {
    return busy_processes(before, after, usable, 100);
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
  looks.after.processes.push_back({.pid = 8, .name = "busier", .used = 200});
  REQUIRE(looks.busy().size() == 2);
  CHECK(looks.busy()[0].name == "busier");
}

TEST_CASE("processes that are idle, young, new or on other CPUs do not count") {
  Looks idle;
  idle.after.processes[0].used = 14;
  CHECK(idle.busy().empty());
  Looks young;
  young.before.processes[0].started = young.after.processes[0].started = 99'900;
  CHECK(young.busy().empty());
  Looks reused;  // its process id has gone to another process
  reused.after.processes[0].started = 50'000;
  CHECK(reused.busy().empty());
  Looks fresh;
  fresh.before.processes.clear();
  CHECK(fresh.busy().empty());
  CHECK(Looks{}.busy({1}).empty());
}

TEST_CASE("two looks at one time tell nothing") {
  Looks looks;
  looks.after.at = looks.before.at;
  CHECK(looks.busy().empty());
}

}  // namespace
}  // namespace ddprun
