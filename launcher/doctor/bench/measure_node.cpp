#include "launcher/doctor/bench/measure_node.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/process/query_process.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/bench/work.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// A CPU that has just been switched off is none to stay on; the thread then runs anywhere.
void stay_on_cpu(int cpu) {
  const int bits = cpu + 1;
  cpu_set_t* const set = CPU_ALLOC(bits);
  if (set == nullptr) return;
  const std::size_t size = CPU_ALLOC_SIZE(bits);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  ::sched_setaffinity(0, size, set);
  CPU_FREE(set);
}

/// Threads that stay on one CPU each.
class CpuThreads {
 public:
  /// Starts a thread that does `work` on that CPU. When the system has no thread left, the process
  /// ends: the other threads may wait for this one for ever. So the process has to be one that was
  /// made for these threads, and its parent sees that it has ended.
  void start(int cpu, std::function<void()> work) {
    try {
      threads_.emplace_back([cpu, work = std::move(work)] {
        stay_on_cpu(cpu);
        work();
      });
    } catch (const std::system_error&) {
      ::_exit(1);
    }
  }

  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

/// `count` entries of `cpus`, evenly from all of them.
std::vector<int> some_of(const std::vector<int>& cpus, std::size_t count) {
  std::vector<int> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(cpus[i * cpus.size() / count]);
  return some;
}

// --- CPUs ---

/// One try takes about 0.1 s, so it is longer than the period in which a cgroup grants its quota.
constexpr int kProducts = 300;
constexpr int kTries = 5;
constexpr auto kTryTimeMax = 1500ms;
constexpr std::size_t kBatchesMax = 6;

double thread_cpu_ms() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

/// A CPU that is too slow for the whole work does a part of it, which stands for the rest.
CpuSpeed try_once(MatrixProduct& product, volatile float& sink) {
  const TimePoint begin = Clock::now();
  const double cpu_begin = thread_cpu_ms();
  int done = 0;
  do sink = product.compute();
  while (++done < kProducts && Clock::now() - begin < kTryTimeMax);
  const double scale = static_cast<double>(kProducts) / done;
  const double wall_ms = ms_since(begin);
  return {.wall_ms = wall_ms * scale, .cpu_ms = (thread_cpu_ms() - cpu_begin) * scale};
}

CpuSpeed best_try(int cpu) {
  MatrixProduct product;
  volatile float sink = product.compute();  // the first one also wakes the CPU up
  CpuSpeed best = try_once(product, sink);
  for (int i = 1; i < kTries; ++i)
    if (const CpuSpeed again = try_once(product, sink); again.wall_ms < best.wall_ms) best = again;
  best.cpu = cpu;
  return best;
}

void measure_batch(std::span<const int> cpus, std::vector<CpuSpeed>& speeds) {
  std::vector<CpuSpeed> found(cpus.size());
  std::barrier all_there{static_cast<std::ptrdiff_t>(cpus.size())};
  CpuThreads threads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    threads.start(cpus[i], [&all_there, &speed = found[i], cpu = cpus[i]] {
      all_there.arrive_and_wait();
      speed = best_try(cpu);
    });
  threads.join();
  speeds.insert(speeds.end(), found.begin(), found.end());
}

/// Measures the CPUs, `together` at the same time, as many as the cgroup lets run. With a long list
/// some of its CPUs are left out, evenly.
std::vector<CpuSpeed> measure_cpus(const std::vector<int>& cpus, int together) {
  const auto batch = static_cast<std::size_t>(std::max(together, 1));
  const std::vector<int> some = some_of(cpus, std::min(cpus.size(), batch * kBatchesMax));
  std::vector<CpuSpeed> speeds;
  for (std::size_t begin = 0; begin < some.size(); begin += batch)
    measure_batch(std::span{some}.subspan(begin, std::min(batch, some.size() - begin)), speeds);
  return speeds;
}

// --- memory ---

constexpr int kTeamThreadsMax = 8;  // more do not get much more out of the memory of a node
constexpr int kPassesMax = 8;
constexpr auto kTimeMax = 800ms;
constexpr std::int64_t kTeamBytes = 512LL * 1024 * 1024;
constexpr std::int64_t kTeamBytesMin = 64LL * 1024 * 1024;
constexpr std::size_t kArrays = 3;

/// Threads on the CPUs of one NUMA node.
struct Team {
  int numa_node = 0;
  std::vector<int> cpus;
  std::int64_t bytes = 0;  // in the arrays of all threads
};

/// All teams have arrays of one size, so that their figures can be compared.
std::vector<Team> teams_of(const std::vector<Cpu>& cpus, int threads_max, std::int64_t free_bytes) {
  std::map<int, std::vector<int>> by_node;
  for (const Cpu& cpu : cpus) by_node[cpu.numa_node].push_back(cpu.id);
  if (by_node.empty()) return {};
  const auto nodes = static_cast<std::int64_t>(by_node.size());
  const std::int64_t threads = std::clamp<std::int64_t>(threads_max / nodes, 1, kTeamThreadsMax);
  std::int64_t bytes = kTeamBytes;
  while (bytes >= kTeamBytesMin && bytes * nodes > free_bytes / 8) bytes /= 2;
  if (bytes < kTeamBytesMin) return {};
  std::vector<Team> teams;
  for (const auto& [node, members] : by_node) {
    const auto count = std::min(members.size(), static_cast<std::size_t>(threads));
    teams.push_back({node, some_of(members, count), bytes});
  }
  return teams;
}

/// Memory that is there from the first access on, so near the CPU that makes it.
class Array {
 public:
  explicit Array(std::size_t count) : bytes_{count * sizeof(double)} {
    void* const made =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return;
    ::madvise(made, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<double*>(made);
    std::fill_n(data_, count, 1.0);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  double* data() const { return data_; }

 private:
  std::size_t bytes_;
  double* data_ = nullptr;  // nullptr: there is no memory
};

/// The passes of one team, which begin and end together.
class Passes {
 public:
  explicit Passes(std::size_t threads)
      : barrier_{static_cast<std::ptrdiff_t>(threads), Turn{*this}} {}

  void join(const double* from, double* to, const double* more, std::size_t count) {
    if (to == nullptr || from == nullptr || more == nullptr) count = 0;  // the others do not wait
    if (count == 0) failed_ = true;
    for (barrier_.arrive_and_wait(); !over_; barrier_.arrive_and_wait())
      triad(to, from, more, 0.5, count);
  }

  /// The shortest pass; nullopt when a thread got no memory.
  std::optional<std::chrono::duration<double>> best() const {
    if (failed_ || best_ == kNone) return std::nullopt;
    return best_;
  }

 private:
  static constexpr std::chrono::duration<double> kNone{std::numeric_limits<double>::max()};

  /// Runs between two passes, in one thread, while all others wait.
  struct Turn {
    Passes& passes;
    void operator()() noexcept { passes.turn(); }
  };

  void turn() noexcept {
    const TimePoint now = Clock::now();
    if (begun_ == 0) first_ = now;
    if (begun_ > 0) best_ = std::min<std::chrono::duration<double>>(best_, now - last_);
    over_ = begun_ == kPassesMax || (begun_ > 1 && now - first_ > kTimeMax) || failed_;
    ++begun_;
    last_ = now;
  }

  std::barrier<Turn> barrier_;
  std::atomic<bool> failed_ = false;
  bool over_ = false;
  int begun_ = 0;
  TimePoint first_, last_;
  std::chrono::duration<double> best_ = kNone;
};

std::optional<MemorySpeed> speed_of(const Team& team, const Passes& passes, std::size_t count) {
  const auto best = passes.best();
  if (!best || best->count() <= 0) return std::nullopt;
  const auto threads = static_cast<int>(team.cpus.size());
  const auto bytes = static_cast<double>(count * kArrays * sizeof(double)) * threads;
  return MemorySpeed{team.numa_node, threads, static_cast<std::int64_t>(bytes),
                     bytes / best->count() / 1e9};
}

std::size_t count_for_thread(const Team& team) {
  return static_cast<std::size_t>(team.bytes) / team.cpus.size() / kArrays / sizeof(double);
}

/// Measures all NUMA nodes of `cpus` together, with at most `threads_max` threads and about an
/// eighth of the `free_bytes`. Returns nothing when too little is free for arrays that no cache
/// holds.
std::vector<MemorySpeed> measure_memory(const std::vector<Cpu>& cpus, int threads_max,
                                        std::int64_t free_bytes) {
  const std::vector<Team> teams = teams_of(cpus, threads_max, free_bytes);
  std::vector<std::unique_ptr<Passes>> passes;
  CpuThreads threads;
  for (const Team& team : teams) {
    Passes& own = *passes.emplace_back(std::make_unique<Passes>(team.cpus.size()));
    for (const int cpu : team.cpus)
      threads.start(cpu, [&own, count = count_for_thread(team)] {
        const Array a{count}, b{count}, c{count};
        own.join(b.data(), a.data(), c.data(), count);
      });
  }
  threads.join();
  std::vector<MemorySpeed> speeds;
  for (std::size_t i = 0; i < teams.size(); ++i)
    if (const auto speed = speed_of(teams[i], *passes[i], count_for_thread(teams[i])))
      speeds.push_back(*speed);
  return speeds;
}

// --- both ---

constexpr auto kNodeTimeout = 20s;

/// Where the kernel does not describe CPUs, those of the affinity mask count as one node.
std::vector<Cpu> own_cpus() {
  const std::vector<int> allowed = allowed_cpus();
  if (const auto topology = read_topology("/", allowed)) return topology->cpus;
  std::vector<Cpu> cpus;
  cpus.reserve(allowed.size());
  for (const int id : allowed) cpus.push_back({.id = id, .core = id});
  return cpus;
}

/// Cores of several kinds: Intel's driver of counters lists the small ones, Arm's kernels tell what
/// each is able to do.
std::string kind_of(int cpu, const std::vector<int>& atoms) {
  if (std::ranges::find(atoms, cpu) != atoms.end()) return "atom";
  return first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity")
      .value_or("");
}

NodeSpeeds measure(const std::string& node, const NodeShare& share) {
  const std::vector<Cpu> cpus = own_cpus();
  std::vector<int> ids;
  ids.reserve(cpus.size());
  for (const Cpu& cpu : cpus) ids.push_back(cpu.id);
  const auto count = static_cast<double>(std::max<std::size_t>(cpus.size(), 1));
  const auto together = static_cast<int>(std::clamp(share.cpu_quota.value_or(count), 1.0, count));
  NodeSpeeds speeds{.node = node};
  speeds.cpus = measure_cpus(ids, together);
  speeds.memory = measure_memory(cpus, together, share.free_bytes);
  const auto atoms = read_cpu_list("/sys/devices/cpu_atom/cpus");
  for (CpuSpeed& speed : speeds.cpus)
    speed.kind = kind_of(speed.cpu, atoms ? *atoms : std::vector<int>{});
  return speeds;
}

}  // namespace

NodeSpeeds measure_node(const std::string& node, const NodeShare& share) {
  auto child = QueryProcess::start(kNodeTimeout, [&] { return to_line(measure(node, share)); });
  const auto answer = child.answer();
  auto speeds = answer ? parse_node_speeds(*answer) : Result<NodeSpeeds>{answer.error()};
  if (!speeds) return {.node = node, .error = speeds.error().message};
  return std::move(*speeds);
}

std::string machine_identity() { return line_of("/proc/sys/kernel/random/boot_id"); }

}  // namespace ddprun
