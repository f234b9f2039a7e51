#include "base/machine/load_meter.hpp"

#include <chrono>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr char kNoDriver[] = "libno-such-library.so.1";

/// Copies of the kernel's files, of a machine with 2 CPUs and 4 MiB.
class LoadFixture {
 protected:
  LoadFixture() {
    was_busy(100, 300);
    files_.write("proc/meminfo", "MemTotal: 4096 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n");
  }
  void was_busy(int busy, int idle) const {
    files_.write("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) +
                                  " 0 0 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\nintr 17 cpu\n");
  }
  LoadMeter meter() const { return LoadMeter{files_.path(), kNoDriver}; }

  ScratchFolder files_;
};

TEST_CASE("CPUs are busy unless they are idle, or wait for a disk") {
  const auto times = cpu_times("cpu  1 2 4 100 200 8 16 32 1 2\ncpu0 1 2\ncpu1 3 4\nctxt 5\n");
  REQUIRE(times.has_value());
  CHECK(times->busy == 63);
  CHECK(times->all == 363);
  CHECK(times->cpus == 2);
  CHECK(times->stolen == 32);
  for (const char* other : {"", "cpu", "cpu  x", "cpu  0 0 0 0", "intr 1\ncpu  1 1 1 1"})
    CHECK_FALSE(cpu_times(other).has_value());
}

TEST_CASE_METHOD(LoadFixture, "the use of CPUs is that since the measurement before") {
  LoadMeter load = meter();
  const NodeLoad first = load.measure();
  CHECK(first.cpus == 2);
  CHECK(first.cpu_percent == -1);
  was_busy(130, 310);
  CHECK(load.measure().cpu_percent == 75);
  CHECK(load.measure().cpu_percent == -1);
  was_busy(1, 1);  // it was put to sleep and came back elsewhere
  CHECK(load.measure().cpu_percent == -1);
}

TEST_CASE_METHOD(LoadFixture, "memory is the machine's, unless a cgroup allows less") {
  CHECK(meter().measure().memory_bytes == 4'194'304);
  CHECK(meter().measure().memory_used_bytes == 3'145'728);
  files_.write("proc/self/cgroup", "0::/job\n");
  files_.write("sys/fs/cgroup/job/memory.max", "1000000\n");
  files_.write("sys/fs/cgroup/job/memory.current", "900000\n");
  files_.write("sys/fs/cgroup/job/memory.stat", "inactive_file 200000\n");
  CHECK(meter().measure().memory_bytes == 1'000'000);
  CHECK(meter().measure().memory_used_bytes == 700'000);
  files_.write("sys/fs/cgroup/job/memory.max", "9000000000\n");
  CHECK(meter().measure().memory_bytes == 4'194'304);
}

TEST_CASE("of a machine without these files and without a driver nothing is known") {
  const ScratchFolder nothing;
  CHECK(LoadMeter{nothing.path(), kNoDriver}.measure() == NodeLoad{});
}

TEST_CASE_METHOD(LoadFixture, "a load is known once it is measured, and until it is too old") {
  LoadWatch watch{meter()};
  TimePoint now = Clock::now();
  CHECK_FALSE(watch.look(now).has_value());
  const TimePoint deadline = now + 60s;
  while (!watch.look(now) && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  REQUIRE(watch.look(now).has_value());
  CHECK(watch.look(now)->memory_bytes == 4'194'304);
  // What this look begins is measured now, which is 11 s before.
  CHECK_FALSE(watch.look(Clock::now() + 11s).has_value());
}

}  // namespace
}  // namespace ddprun
