#include "base/machine/strain_reader.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/machine/cgroups.hpp"
#include "base/machine/load_meter.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/process/process_facts.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kThreadsMax = 256;
/// A connection that sends nothing keeps the round trip of its last segment.
constexpr std::chrono::milliseconds kSilentMax{5'000};
constexpr std::size_t kFilesMax = 4096;

struct Pressure {
  const char* name;
  Strain::Time Strain::*time;
};
constexpr Pressure kPressures[] = {{"cpu", &Strain::cpu_pressure},
                                   {"memory", &Strain::memory_pressure},
                                   {"io", &Strain::io_pressure}};

long ticks_a_second() {
  static const long ticks = std::max(sysconf(_SC_CLK_TCK), 1L);
  return ticks;
}

std::chrono::microseconds from_ticks(std::int64_t ticks) {
  return std::chrono::microseconds{ticks * 1'000'000 / ticks_a_second()};
}

double mhz_in(const fs::path& file) {
  const auto khz = read_number(file);
  return khz ? *khz / 1000.0 : 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// The links say what the files are, and reading them waits for no disk. By the open folder it
/// takes half as long as by whole paths, and this is the longest part of a reading.
std::vector<std::uint32_t> sockets_in(const fs::path& path) {
  std::vector<std::uint32_t> inodes;
  const std::unique_ptr<DIR, CloseFolder> folder{::opendir(path.c_str())};
  if (!folder) return inodes;
  for (std::size_t files = 0; files < kFilesMax; ++files) {
    const dirent* const file = ::readdir(folder.get());
    if (file == nullptr) break;
    std::array<char, 64> link;
    const ssize_t size =
        ::readlinkat(::dirfd(folder.get()), file->d_name, link.data(), link.size());
    if (size <= 0) continue;
    const auto inode = socket_inode({link.data(), static_cast<std::size_t>(size)});
    if (inode) inodes.push_back(*inode);
  }
  return inodes;
}

}  // namespace

StrainReader::StrainReader(fs::path root) : root_{std::move(root)} {}

void StrainReader::refresh() {
  machine_ = {};
  if (const auto times = cpu_times(text_if_any(root_ / "proc/stat"))) {
    machine_.stolen = from_ticks(times->stolen);
    machine_.wanted = from_ticks(times->busy);
  }
  for (const Pressure& pressure : kPressures)
    machine_.*pressure.time = pressure_time(text_if_any(root_ / "proc/pressure" / pressure.name));
  connections_ = tcp_connections();
}

Strain StrainReader::read(pid_t pid) const {
  const std::string process = std::to_string(pid);
  const fs::path folder = root_ / "proc" / process;
  const auto facts = parse_stat(text_if_any(folder / "stat"), ticks_a_second());
  if (!facts) return {};
  Strain strain = machine_;
  strain.cpus = static_cast<int>(allowed_cpus(pid).size());
  strain.ran = facts->cpu;
  strain.major_faults = facts->major_faults;
  const auto swapped_kb = number_behind("VmSwap:", text_if_any(folder / "status"));
  strain.swapped_bytes = swapped_kb.value_or(0) * 1024;
  read_threads(folder, strain);
  read_cgroups(process, strain);
  read_clock(facts->last_cpu, strain);
  read_connections(folder, strain);
  return strain;
}

void StrainReader::read_threads(const fs::path& folder, Strain& strain) const {
  std::vector<std::string> threads = names_in(folder / "task");
  threads.resize(std::min(threads.size(), kThreadsMax));
  for (const std::string& thread : threads) {
    const auto times = parse_thread_times(text_if_any(folder / "task" / thread / "schedstat"));
    if (times) strain.queued = strain.queued.value_or(std::chrono::microseconds{0}) + times->waited;
  }
}

/// What the kernel tells of the process's own cgroup says more than what it tells of the machine.
void StrainReader::read_cgroups(const std::string& process, Strain& strain) const {
  const CpuQuota quota = cpu_quota(root_, process);
  strain.throttled = quota.throttled;
  strain.quota_cpus = quota.cpus.value_or(0);
  const fs::path innermost = cgroups_of(root_, process, "").front();
  for (const Pressure& pressure : kPressures) {
    const std::string file = std::string{pressure.name} + ".pressure";
    if (const auto time = pressure_time(text_if_any(innermost / file)))
      strain.*pressure.time = time;
  }
}

void StrainReader::read_clock(int cpu, Strain& strain) const {
  const fs::path clock =
      root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cpufreq";
  strain.mhz = mhz_in(clock / "scaling_cur_freq");
  strain.mhz_max = mhz_in(clock / "cpuinfo_max_freq");
}

void StrainReader::read_connections(const fs::path& folder, Strain& strain) const {
  if (connections_.empty()) return;
  for (const std::uint32_t inode : sockets_in(folder / "fd")) {
    const auto found = std::ranges::lower_bound(connections_, inode, {}, &TcpConnection::inode);
    if (found == connections_.end() || found->inode != inode) continue;
    ++strain.connections;
    strain.retransmits += found->retransmits;
    if (found->loopback) continue;
    if (found->sending)
      strain.sending = strain.sending.value_or(std::chrono::microseconds{0}) + *found->sending;
    const auto round_trip = found->round_trip;
    if (found->silent > kSilentMax || round_trip.count() == 0) continue;
    if (strain.round_trip.count() == 0 || round_trip < strain.round_trip)
      strain.round_trip = round_trip;
  }
}

}  // namespace ddprun
