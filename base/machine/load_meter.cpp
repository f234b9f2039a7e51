#include "base/machine/load_meter.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <sstream>
#include <utility>

#include "base/machine/cgroups.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

constexpr auto kMeasureEvery = 1s;
/// A load that is older says nothing of now: the driver hangs, or the agent was stopped.
constexpr auto kTellsFor = 10s;

constexpr auto kEndsWithin = 100ms;

int percent_of(std::int64_t part, std::int64_t all) {
  return static_cast<int>(std::clamp<std::int64_t>((100 * part + all / 2) / all, 0, 100));
}

}  // namespace

std::optional<CpuTimes> cpu_times(const std::string& text) {
  CpuTimes times;
  for (const std::string& line : split_lines(text)) {
    if (!line.starts_with("cpu")) break;
    if (line.starts_with("cpu ")) {
      std::istringstream numbers{line.substr(4)};
      std::int64_t time = 0;
      // The 4th and 5th are spent idle. Guests, from the 9th on, are in the first two, too.
      for (int place = 1; place <= 8 && numbers >> time; ++place) {
        times.all += time;
        if (place != 4 && place != 5) times.busy += time;
        if (place == 8) times.stolen = time;
      }
    } else {
      ++times.cpus;
    }
  }
  return times.all > 0 ? std::optional{times} : std::nullopt;
}

LoadMeter::LoadMeter(fs::path root, std::string driver)
    : root_{std::move(root)}, driver_name_{std::move(driver)} {}

NodeLoad LoadMeter::measure() {
  NodeLoad load;
  measure_cpus(load);
  measure_memory(load);
  measure_gpus(load);
  return load;
}

void LoadMeter::measure_cpus(NodeLoad& load) {
  const std::optional<CpuTimes> now = cpu_times(text_if_any(root_ / "proc/stat"));
  const std::optional<CpuTimes> before = std::exchange(before_, now);
  if (!now) return;
  load.cpus = now->cpus;
  if (before && now->all > before->all)
    load.cpu_percent = percent_of(now->busy - before->busy, now->all - before->all);
}

void LoadMeter::measure_memory(NodeLoad& load) const {
  const auto [all, free] = machine_memory(root_);
  if (all && free) {
    load.memory_bytes = *all;
    load.memory_used_bytes = *all - *free;
  }
  const auto share = cgroup_memory(root_);
  if (!share || (all && share->max >= load.memory_bytes)) return;
  load.memory_bytes = share->max;
  load.memory_used_bytes = share->used;
}

/// A GPU of which the driver tells nothing is left out.
void LoadMeter::measure_gpus(NodeLoad& load) {
  if (!driver_) driver_.emplace(NvmlLibrary::open(driver_name_));
  if (!*driver_) return;
  const NvmlLibrary& driver = **driver_;
  const auto listed = driver.gpus();
  if (!listed) return;
  load.gpus = static_cast<int>(listed->size());
  std::int64_t used = 0, all = 0, percents = 0, told = 0;
  for (const NvmlListed& one : *listed) {
    NvmlMemory memory;
    NvmlUse use;
    if (driver.ask(nvml::kMemory, one.gpu, &memory)) {
      used += static_cast<std::int64_t>(memory.used);
      all += static_cast<std::int64_t>(memory.total);
    }
    if (!driver.ask(nvml::kUse, one.gpu, &use)) continue;
    percents += use.gpu_percent;
    ++told;
  }
  if (told > 0) load.gpu_percent = percent_of(percents, 100 * told);
  if (all == 0) return;
  load.gpu_memory_used_bytes = used;
  load.gpu_memory_bytes = all;
}

struct LoadWatch::Shared {
  explicit Shared(LoadMeter its_meter) : meter{std::move(its_meter)} {}

  LoadMeter meter;  // the thread's alone
  std::mutex mutex;
  std::optional<NodeLoad> load;
  TimePoint measured;
};

LoadWatch::LoadWatch(LoadMeter meter) : shared_{std::make_shared<Shared>(std::move(meter))} {}

LoadWatch::~LoadWatch() { (void)queue_.done_within(kEndsWithin); }

std::optional<NodeLoad> LoadWatch::look(TimePoint now) {
  std::unique_lock lock{shared_->mutex};
  const auto found = now < shared_->measured + kTellsFor ? shared_->load : std::nullopt;
  lock.unlock();
  if (now < next_ || !queue_.done_within(0ms)) return found;
  next_ = now + kMeasureEvery;
  // Where no thread can be started, the load stays unknown.
  (void)queue_.add([shared = shared_] {
    const NodeLoad load = shared->meter.measure();
    const std::lock_guard written{shared->mutex};
    shared->load = load;
    shared->measured = Clock::now();
  });
  return found;
}

}  // namespace ddprun
