#include "base/machine/cgroups.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include "base/machine/machine_topology.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

/// Copies of the kernel's files.
class CgroupFiles {
 protected:
  void write(const std::string& path, const std::string& text) const { scratch_.write(path, text); }
  std::filesystem::path root() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_;
};

TEST_CASE_METHOD(CgroupFiles, "the lowest quota counts, also where it is not the innermost one") {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  CHECK_FALSE(cpu_quota(root()).cpus.has_value());
  write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root()).cpus == 1.5);
  CHECK(usable_cpus(root()) == 1);
  write("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
  CHECK(cpu_quota(root()).cpus == 0.5);
  CHECK(usable_cpus(root()) == 1);
}

TEST_CASE_METHOD(CgroupFiles, "without a quota this process may use all CPUs of its mask") {
  CHECK(usable_cpus(root()) == static_cast<int>(allowed_cpus().size()));
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/cpu.max", "nonsense here\n");
  CHECK_FALSE(cpu_quota(root()).cpus.has_value());
  write("sys/fs/cgroup/job/cpu.max", "100000000 100000\n");
  CHECK(usable_cpus(root()) == static_cast<int>(allowed_cpus().size()));
}

TEST_CASE_METHOD(CgroupFiles, "controllers of version 1 may share a hierarchy") {
  write("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:cpuset:/b\n0::/\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  CHECK(cgroups_of(root(), "self", "cpu").front() == root() / "sys/fs/cgroup/cpu/a");
  CHECK(cpu_quota(root()).cpus == 1);
  CHECK(usable_cpus(root()) == 1);
}

TEST_CASE_METHOD(CgroupFiles, "a cgroup that a container does not show is looked for at its root") {
  write("proc/self/cgroup", "6:memory:/docker/x\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n");
  const auto memory = cgroup_memory(root());
  REQUIRE(memory.has_value());
  CHECK(memory->max == 2000);
  CHECK(memory->used == 900);
  CHECK_FALSE(cgroup_tasks(root()).has_value());
}

TEST_CASE("the time in which a quota was used up is in microseconds or nanoseconds") {
  using namespace std::chrono_literals;
  CHECK(throttled_time("usage_usec 9\nnr_throttled 2\nthrottled_usec 700\n") == 700us);
  CHECK(throttled_time("nr_periods 3\nnr_throttled 2\nthrottled_time 700000\n") == 700us);
  for (const char* other : {"", "usage_usec 9\n", "throttled_usec\n", "throttled_time x\n"})
    CHECK_FALSE(throttled_time(other).has_value());
}

TEST_CASE_METHOD(CgroupFiles, "the time is that of all cgroups around a process") {
  using namespace std::chrono_literals;
  CHECK_FALSE(cpu_quota(root(), "42").throttled.has_value());
  write("proc/42/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/cpu.stat", "throttled_usec 700\n");
  write("sys/fs/cgroup/job/cpu.stat", "throttled_usec 300\n");
  write("sys/fs/cgroup/other/cpu.stat", "throttled_usec 5\n");
  CHECK(cpu_quota(root(), "42").throttled == 1ms);
  CHECK_FALSE(cpu_quota(root()).throttled.has_value());
}

TEST_CASE_METHOD(CgroupFiles, "where both versions are mounted the second has its own folder") {
  write("proc/self/cgroup", "1:cpu:/a\n0::/b\n");
  write("sys/fs/cgroup/unified/cgroup.procs", "");
  CHECK(cgroups_of(root(), "self", "").front() == root() / "sys/fs/cgroup/unified/b");
  CHECK(cgroups_of(root(), "self", "cpu").front() == root() / "sys/fs/cgroup/cpu/a");
}

}  // namespace
}  // namespace ddprun
