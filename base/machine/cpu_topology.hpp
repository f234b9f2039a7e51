// Which of this machine's CPUs belong together, as plain data. Pure; machine_topology.hpp reads it.
#pragma once

#include <vector>

namespace ddprun {

/// One logical CPU, that is, one hyperthread.
struct Cpu {
  int id = 0;         // the kernel's number
  int core = 0;       // the physical core: hyperthreads of one core share it, no other CPU has it
  int package = 0;    // the socket
  int numa_node = 0;  // the memory it is close to
  int cache = 0;      // the group that shares the last-level cache; no other group has this number

  bool operator==(const Cpu&) const = default;
};

struct CpuTopology {
  std::vector<Cpu> cpus;  // those allowed and online, each once, by ascending id
};

}  // namespace ddprun
