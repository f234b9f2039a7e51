// Why a rank is slower than the others: from what kept each of them from its work in the same
// period. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/strain_rates.hpp"

namespace ddprun {

enum class SlowBecause {
  kThrottled,     // its cgroup has used up its quota of CPU time
  kStolen,        // other guests of the host have its machine's CPUs
  kFewerCpus,     // it uses all of its CPUs, and the others have more
  kQueued,        // other processes use its CPUs, or are preferred to it
  kMemory,        // it waits for memory: pressure, or pages that come from a disk
  kDisk,          // it waits for a disk
  kSlowerClock,   // its CPU runs at a lower frequency
  kNetwork,       // its messages are in flight for longer
  kMoreWork,      // it computes more in the same time, and nothing keeps it from that
  kWaitsOutside,  // it neither runs nor could: it sleeps, or waits for data or a device
  kUnknown
};

struct SlowCause {
  SlowBecause because = SlowBecause::kUnknown;
  std::string sentence;  // the evidence; "": there is none
};

/// The most likely cause for which one rank is slow. The others are those of the same job, as
/// median_of() has them.
///
/// What costs time is compared by the share of the time that it cost this rank more than the
/// others. Where two cost nearly as much, the first one of SlowBecause is named: a full quota and
/// stolen time also make threads wait for a CPU, and memory that is swapped makes them wait for a
/// disk. What has no such share is only named if nothing else is. `sleeps` says where the slow one
/// sleeps: see SleepSamples::sentence().
SlowCause why_slow(const StrainRates& slow, const StrainRates& others,
                   const std::string& sleeps = "");

/// By which share of the time the rank's network costs more than those of the others; and the
/// evidence.
double network_excess(const StrainRates& slow, const StrainRates& others);
std::string network_sentence(const StrainRates& slow, const StrainRates& others);

/// The share of the time in which a rank neither ran nor could, nor waited for late ones: it slept,
/// or was in a collective. nullopt: it is not known.
std::optional<double> idle_share(const StrainRates& rank);

/// The median of each figure, among the ranks of which it is known.
StrainRates median_of(const std::vector<StrainRates>& ranks);

}  // namespace ddprun
