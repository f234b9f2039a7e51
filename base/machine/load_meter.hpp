// Measures how busy this machine is: its CPUs and memory by the kernel's files, its GPUs by
// NVIDIA's driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/machine/nvml_library.hpp"
#include "base/node_load.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

/// The times that all CPUs have spent since the machine has started, in ticks (sysconf(3)).
struct CpuTimes {
  int cpus = 0;
  std::int64_t busy = 0;  // with what was stolen
  std::int64_t all = 0;
  std::int64_t stolen = 0;  // other guests of the machine below had the CPUs meanwhile
};

/// Reads proc/stat, see proc_stat(5). nullopt: it is something else.
std::optional<CpuTimes> cpu_times(const std::string& text);

/// LoadMeter asks the driver, which may hang or take seconds.
class LoadMeter {
 public:
  /// Reads below `root`, which is "/", and asks that driver.
  explicit LoadMeter(std::filesystem::path root, std::string driver = kNvmlLibrary);

  /// The use of the CPUs is not known the first time.
  NodeLoad measure();

 private:
  void measure_cpus(NodeLoad& load);
  void measure_memory(NodeLoad& load) const;
  void measure_gpus(NodeLoad& load);

  std::filesystem::path root_;
  std::string driver_name_;
  std::optional<Result<NvmlLibrary>> driver_;  // nullopt: nobody has asked for it yet
  std::optional<CpuTimes> before_;
};

/// LoadWatch measures in a thread of its own, so that an event loop never waits for a driver.
class LoadWatch {
 public:
  explicit LoadWatch(LoadMeter meter);
  /// Waits a little for a measurement that is in progress: at the end of the process it would use
  /// what is gone.
  ~LoadWatch();
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;

  /// Returns what the last measurement has found; nullopt where that is too old to tell anything,
  /// or there was none. Begins the next one, unless one began within the last second or is in
  /// progress.
  std::optional<NodeLoad> look(TimePoint now);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  LeftBehindQueue queue_{/*tasks_max=*/1};
  TimePoint next_;
};

}  // namespace ddprun
