// Strain: what kept a process from its work, as totals that the kernel counts. Two readings tell
// what it was in between. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/strain_rates.hpp"

namespace ddprun {

/// Totals since the process, its cgroup or the machine began; nullopt: the kernel does not tell.
struct Strain {
  using Time = std::optional<std::chrono::microseconds>;

  int cpus = 0;                    // on which it may run; 0: not known
  Time ran;                        // CPU time of all its threads
  Time queued;                     // its threads were ready and had no CPU
  Time throttled;                  // see CpuQuota
  double quota_cpus = 0;           // see CpuQuota; 0: there is none
  Time stolen;                     // other guests of the machine below had the CPUs
  Time wanted;                     // CPU time that the machine used, or that was stolen
  Time cpu_pressure;               // some task in its cgroup, or machine, waited for a CPU
  Time memory_pressure;            // some task waited for memory
  Time io_pressure;                // some task waited for a disk
  std::int64_t major_faults = 0;   // pages that it waited for until a disk had read them
  std::int64_t swapped_bytes = 0;  // now
  double mhz = 0;                  // frequency now, where it was last; 0: not known
  double mhz_max = 0;              // the highest one of that CPU; 0: not known
  int connections = 0;             // its own TCP connections now
  std::int64_t retransmits = 0;    // over them; it falls when one of them is closed
  /// How long what it has sent was in flight: see TcpConnection. Over those that leave the machine.
  Time sending;
  /// The shortest over those that leave the machine and have sent data in the last seconds: what
  /// the machine's own way costs, whichever machine is at the other end. 0: there are none.
  std::chrono::microseconds round_trip{0};
};

/// What was between two readings with `period` between them, which is more than 0. A total that has
/// fallen, as when a thread has ended, counts as one that stood still.
StrainRates strain_rates(const Strain& before, const Strain& after,
                         std::chrono::microseconds period);

/// The time in which some task waited, in a text of pressure stall information; nullopt when it is
/// none (https://docs.kernel.org/accounting/psi.html).
Strain::Time pressure_time(std::string_view text);

/// The inode in what a link in /proc/PID/fd holds, "socket:[12345]"; nullopt: it is no socket.
std::optional<std::uint32_t> socket_inode(std::string_view link);

}  // namespace ddprun
