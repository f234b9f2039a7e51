// The launcher's side of `ddprun doctor --bench` with several hosts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/host_talks.hpp"

namespace ddprun {

/// A host that has been examined.
struct BenchHost {
  std::size_t talk = 0;  // its place in the talks
  std::string node;      // its name in the report
  std::string address;   // where the others reach it
};

/// Measures all hosts, each machine's one after the other, and then the links in rounds. What looks
/// slow is measured once more, and the better figure counts.
Measurements measure_hosts(HostTalks& talks, const std::vector<BenchHost>& hosts);

}  // namespace ddprun
