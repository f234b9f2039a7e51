#include "launcher/doctor/busy_processes.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "base/parse_number.hpp"

namespace ddprun {

namespace {

constexpr double kBusyCpus = 0.1;
constexpr std::int64_t kYoungSeconds = 2;
constexpr std::size_t kBusyMax = 64;

}  // namespace

/// The name is in parentheses, and may have any of them in it: the last one ends it.
std::optional<ProcessTimes> parse_process_times(std::string_view text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto pid = parse_number<std::int64_t>(text.substr(0, open - (open > 0 ? 1 : 0)));
  std::istringstream rest{std::string{text.substr(close + 1)}};
  std::string state;
  rest >> state;
  std::vector<std::int64_t> fields;  // from the fourth on
  for (std::string word; rest >> word;)
    fields.push_back(parse_number<std::int64_t>(word).value_or(0));
  constexpr std::size_t kUserTime = 14 - 4, kSystemTime = 15 - 4, kStart = 22 - 4, kCpu = 39 - 4;
  if (!pid || fields.size() <= kCpu) return std::nullopt;
  return ProcessTimes{.pid = *pid,
                      .name = std::string{text.substr(open + 1, close - open - 1)},
                      .used = fields[kUserTime] + fields[kSystemTime],
                      .started = fields[kStart],
                      .cpu = static_cast<int>(fields[kCpu])};
}

std::vector<BusyProcess> busy_processes(const ProcessesLook& before, const ProcessesLook& after,
                                        const std::vector<int>& usable, std::int64_t ticks_per_s) {
  const std::int64_t between = after.at - before.at;
  if (between <= 0 || ticks_per_s <= 0) return {};
  std::map<std::int64_t, const ProcessTimes*> earlier;
  for (const ProcessTimes& process : before.processes) earlier[process.pid] = &process;
  std::vector<BusyProcess> busy;
  for (const ProcessTimes& process : after.processes) {
    const auto found = earlier.find(process.pid);
    if (found == earlier.end() || found->second->started != process.started) continue;
    if (before.at - process.started < kYoungSeconds * ticks_per_s) continue;
    if (std::ranges::count(usable, process.cpu) == 0) continue;
    const auto used = static_cast<double>(process.used - found->second->used);
    if (const double cpus = used / static_cast<double>(between); cpus >= kBusyCpus)
      busy.push_back({process.pid, process.name, cpus});
  }
  std::ranges::sort(busy, std::ranges::greater{}, &BusyProcess::cpus);
  if (busy.size() > kBusyMax) busy.resize(kBusyMax);
  return busy;
}

}  // namespace ddprun
