// What is read on a node, from files that a test has written and from processes that are ill.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/checkpoints/memory_budget.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/machine/gpu_driver.hpp"
#include "base/process/query_process.hpp"
#include "launcher/doctor/ask/links.hpp"
#include "launcher/doctor/ask/peers.hpp"
#include "launcher/doctor/read/folder_probe.hpp"
#include "launcher/doctor/read/kernel_files.hpp"
#include "launcher/doctor/read/name_probe.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Copies of the kernel's files.
class KernelCopy {
 public:
  void write(const std::string& path, const std::string& text) const { scratch_.write(path, text); }
  NodeReading reading() const {
    NodeReading reading;
    read_kernel_files(scratch_.path(), reading);
    return reading;
  }

 private:
  ScratchFolder scratch_;
};

TEST_CASE("the size of the last checkpoint is read from the list that is with it") {
  const ScratchFolder disk;
  CHECK(probe_checkpoints(disk.path()).newest.empty());
  CHECK(probe_checkpoints(disk.path()).save_bytes == kUnknownSaveBytes);
  Snapshot list{.number = 7};
  list.files = {{.facts = {.path = "c-4/model.bin", .bytes = 900}, .since = 6},
                {.facts = {.path = "c-5/model.bin", .bytes = 400, .modified_ns = 1}, .since = 7}};
  disk.write(".ddprun/files.json", to_text(list));
  const CheckpointsReading found = probe_checkpoints(disk.path());
  CHECK(found.newest == title_of(list));
  CHECK(found.last_bytes == 400);
  CHECK(found.save_bytes == 500);
  disk.write(".ddprun/files.json", "{");
  CHECK(probe_checkpoints(disk.path()).newest.empty());
}

TEST_CASE_METHOD(KernelCopy, "memory, CPUs and pages are read from the kernel's files") {
  write("proc/meminfo", "MemTotal:  4096 kB\nMemFree: 1 kB\nMemAvailable:  1024 kB\n");
  write("proc/sys/kernel/osrelease", "6.1.0\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write("sys/devices/system/cpu/online", "0-7\n");
  write("sys/devices/system/node/online", "0-1\n");
  const NodeReading read = reading();
  CHECK(read.kernel == "6.1.0");
  CHECK(read.memory.total_bytes == 4096 * 1024);
  CHECK(read.memory.available_bytes == 1024 * 1024);
  CHECK(read.memory.transparent_huge_pages == "madvise");
  CHECK(read.cpus.online == 8);
  CHECK(read.cpus.numa_nodes == 2);
  CHECK_FALSE(read.memory.cgroup_max_bytes.has_value());
  CHECK_FALSE(read.gpus.has_value());
}

TEST_CASE_METHOD(KernelCopy, "of all cgroups around a process the one with the least left counts") {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "1000\n");
  write("sys/fs/cgroup/job/memory.current", "700\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 300\n");
  write("sys/fs/cgroup/memory.max", "5000\n");
  write("sys/fs/cgroup/memory.current", "1200\n");
  write("sys/fs/cgroup/job/pids.max", "100\n");
  write("sys/fs/cgroup/job/pids.current", "40\n");
  write("sys/fs/cgroup/job/step/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  const NodeReading read = reading();
  CHECK(read.memory.cgroup_max_bytes == 1000);
  CHECK(read.memory.cgroup_used_bytes == 400);
  CHECK(read.limits.cgroup_tasks_max == 100);
  CHECK(read.limits.cgroup_tasks == 40);
  CHECK(read.cpus.quota == 2.5);
}

TEST_CASE_METHOD(KernelCopy,
                 "cgroups of version 1 are read, and a limit beyond any memory is none") {
  write("proc/self/cgroup", "5:memory:/a\n4:pids:/a\n3:cpu:/a\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "900\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/pids/a/pids.max", "max\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  const NodeReading read = reading();
  CHECK(read.memory.cgroup_max_bytes == 2000);
  CHECK(read.memory.cgroup_used_bytes == 900);
  CHECK_FALSE(read.limits.cgroup_tasks_max.has_value());
  CHECK_FALSE(read.cpus.quota.has_value());
}

TEST_CASE_METHOD(KernelCopy, "devices and capabilities are read from the kernel's files") {
  write("sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:17:00.0/class", "0x030200\n");
  write("sys/bus/pci/devices/0000:17:00.1/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:17:00.1/class", "0x040300\n");
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  write("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
  const NodeReading read = reading();
  REQUIRE(read.gpus.has_value());
  CHECK(read.gpus->on_bus == 1);
  REQUIRE(read.infiniband.size() == 1);
  CHECK(read.infiniband[0].state == "ACTIVE");
  CHECK(read.infiniband[0].rate == "400 Gb/sec (4X NDR)");
  CHECK(read.infiniband[0].link_layer == "InfiniBand");
  CHECK(read.limits.locks_all_memory);
  CHECK_FALSE(read.limits.may_exceed_processes);
}

TEST_CASE("a folder that a job would make is tried by the one around it") {
  const ScratchFolder scratch;
  const FolderReading folder = probe_folder("logs", scratch / "not/yet/there");
  CHECK(folder.error.empty());
  CHECK(folder.tried == scratch.path());
  CHECK(folder.write_ms.has_value());
  CHECK(folder.free_bytes.has_value());
  CHECK(std::filesystem::is_empty(scratch.path()));
  CHECK(probe_folder("logs", scratch.path()).tried.empty());
  CHECK(probe_folder("logs", scratch.path().string() + "/").tried.empty());
}

TEST_CASE("a file in place of a folder is reported") {
  const ScratchFolder scratch;
  std::ofstream{scratch / "file"} << "x";
  const FolderReading file = probe_folder("logs", scratch / "file/x");
  CHECK_THAT(file.error, contains("/file' is no folder"));
  CHECK(file.error_number == ENOTDIR);
}

TEST_CASE("where no file can be made, the system's reason is kept") {
  const FolderReading folder = probe_folder("logs", "/proc");
  CHECK_THAT(folder.error, contains("no file can be made there: "));
  CHECK(folder.error_number.has_value());
}

TEST_CASE("name servers are those of resolv.conf") {
  CHECK(name_servers_in("# old: nameserver 1.1.1.1\nsearch x\nnameserver 10.0.0.2\n"
                        "nameserver  fe80::1%eth0\n") ==
        std::vector<std::string>{"10.0.0.2", "fe80::1%eth0"});
}

TEST_CASE("a name server that nobody runs has no answer") {
  const auto servers = ask_name_servers({"127.0.0.254", "no address"});
  REQUIRE(servers.size() == 2);
  CHECK_FALSE(servers[0].answer_ms.has_value());
  CHECK_FALSE(servers[1].answer_ms.has_value());
}

TEST_CASE("a name that needs no server is looked up") {
  const LookupReading local = look_up_name("127.0.0.1");
  CHECK(local.answers == std::vector<std::string>{"127.0.0.1"});
  CHECK(local.ms.has_value());
}

TEST_CASE("the names of many nodes are looked up, more than a pipe holds") {
  std::vector<Peer> peers(2000, Peer{.node = "h", .host = "127.0.0.1", .name = "127.0.0.1"});
  peers.push_back({.node = "nameless"});
  const auto found = PeerNames{peers}.answers();
  REQUIRE(found.size() == 2000);
  for (const PeerNameReading& peer : found) {
    CHECK(peer.lookup.ms.has_value());
    CHECK(peer.lookup.answers == std::vector<std::string>{"127.0.0.1"});
  }
}

/// Visits that many peers in a process with these limits of open files, and returns how many of
/// them were reached.
std::string reached_of(std::size_t count, const rlimit& files) {
  auto child = QueryProcess::start(60s, [&] {
    ::setrlimit(RLIMIT_NOFILE, &files);
    const auto echo = start_echo("token");
    if (!echo) return echo.error().message;
    const std::vector<Peer> peers(count, {"h", "127.0.0.1", echo->port, "", ""});
    const auto links = visit_peers(peers, "token", {});
    return std::to_string(std::ranges::count(links, "", &LinkReading::error)) + " of " +
           std::to_string(links.size());
  });
  return child.answer().value();
}

TEST_CASE("more nodes are visited than a process may have open files") {
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK(reached_of(300, {100, files.rlim_max}) == "300 of 300");
  CHECK(reached_of(300, {100, 100}) == "300 of 300");
}

TEST_CASE("the driver tells how its GPUs are") {
  const GpusReading gpus = ask_gpu_driver(DDPRUN_FAKE_NVML);
  CHECK(gpus.error.empty());
  CHECK(gpus.driver == "550.54.15");
  CHECK(gpus.cuda == "12.4");
  REQUIRE(gpus.gpus.size() == 4);
  const GpuReading& well = gpus.gpus.front();
  CHECK(well.bus_id == "0000:1a:00.0");
  CHECK(well.model == "NVIDIA Test");
  CHECK(well.ecc == true);
  CHECK(well.persistent == true);
  CHECK(well.uncorrected_errors == 0);
  CHECK(well.repair_pending == false);
  CHECK(well.throttled.empty());
  CHECK(well.processes.empty());
  CHECK(well.nvlinks == 12);
  CHECK(well.nvlinks_active == 4);
  CHECK_FALSE(well.nvswitch);
  const GpuReading& ill = gpus.gpus.back();
  CHECK(ill.uncorrected_errors == 2);
  CHECK(ill.repair_pending == true);
  CHECK(ill.throttled == std::vector<std::string>{"hw_slowdown", "hw_thermal"});
  CHECK(ill.celsius == 92);
  CHECK(ill.nvswitch);
  REQUIRE(ill.processes.size() == 1);
  CHECK(ill.processes[0].bytes == 900'000);
  CHECK_FALSE(ill.processes[0].name.empty());
}

TEST_CASE("a driver that is missing or fails is reported in a reading") {
  CHECK_THAT(ask_gpu_driver("libno-such-library.so.1").error, contains("libno-such-library"));
  ::setenv("FAKE_NVML", "fail", 1);
  CHECK(ask_gpu_driver(DDPRUN_FAKE_NVML).error == "Driver Not Loaded");
  ::unsetenv("FAKE_NVML");
}

}  // namespace
}  // namespace ddprun
