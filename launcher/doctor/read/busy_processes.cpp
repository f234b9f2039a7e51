#include "launcher/doctor/read/busy_processes.hpp"

#include <algorithm>
#include <map>

namespace ddprun {

namespace {

constexpr double kBusyCpus = 0.1;
constexpr std::chrono::seconds kYoung{2};
constexpr std::size_t kBusyMax = 64;

}  // namespace

std::vector<BusyProcess> busy_processes(const ProcessesLook& before, const ProcessesLook& after,
                                        const std::vector<int>& usable) {
  const std::chrono::duration<double> between = after.at - before.at;
  if (between.count() <= 0) return {};
  std::map<pid_t, const ProcessFacts*> earlier;
  for (const ProcessFacts& process : before.processes) earlier[process.pid] = &process;
  std::vector<BusyProcess> busy;
  for (const ProcessFacts& process : after.processes) {
    const auto found = earlier.find(process.pid);
    if (found == earlier.end() || found->second->started != process.started) continue;
    if (before.at - process.started < kYoung) continue;
    if (std::ranges::count(usable, process.last_cpu) == 0) continue;
    if (const double cpus = (process.cpu - found->second->cpu) / between; cpus >= kBusyCpus)
      busy.push_back({process.pid, process.name, cpus});
  }
  std::ranges::sort(busy, std::ranges::greater{}, &BusyProcess::cpus);
  if (busy.size() > kBusyMax) busy.resize(kBusyMax);
  return busy;
}

}  // namespace ddprun
