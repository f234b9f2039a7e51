#include "launcher/doctor/bench/memory_teams.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "launcher/doctor/bench/cpu_threads.hpp"
#include "launcher/doctor/bench/work.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

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

/// `count` entries of `cpus`, evenly from all of them.
std::vector<int> some_of(const std::vector<int>& cpus, std::size_t count) {
  std::vector<int> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(cpus[i * cpus.size() / count]);
  return some;
}

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

}  // namespace

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

}  // namespace ddprun
