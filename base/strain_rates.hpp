// StrainRates: what kept a worker from its work during a period. Agents measure it, and workers are
// compared by it.
#pragma once

#include <cstdint>
#include <optional>

namespace ddprun {

/// Times are in CPU seconds a second, as 1.5 for one CPU and a half; shares are from 0 to 1.
/// nullopt: the kernel does not tell.
struct StrainRates {
  int cpus = 0;                        // on which it may run; 0: not known
  std::optional<double> ran;           // CPU time of its threads
  std::optional<double> queued;        // its threads were ready and had no CPU
  std::optional<double> throttled;     // all that its cgroup was kept from by a quota
  double quota_cpus = 0;               // worth of that quota; 0: there is none
  std::optional<double> stolen;        // share that other guests took of what its machine wanted
  std::optional<double> cpu_pressure;  // share of the time in which a task there waited for a CPU
  std::optional<double> memory_pressure;  // share in which one waited for memory
  std::optional<double> io_pressure;      // share in which one waited for a disk
  double major_faults = 0;                // a second
  std::int64_t swapped_bytes = 0;         // memory that is swapped out, at the end
  double mhz = 0;                         // frequency at the end, where it was last; 0: not known
  double mhz_max = 0;                     // the highest one of that CPU; 0: not known
  int connections = 0;                    // its TCP connections at the end
  double retransmits = 0;                 // segments a second, over all of them
  std::optional<double> sending;          // share in which what it had sent was in flight
  double round_trip_ms = 0;               // the shortest over those that leave the machine
  std::optional<double> waited;  // share of the time in collectives, if the caller knows it
  bool operator==(const StrainRates&) const = default;
};

}  // namespace ddprun
