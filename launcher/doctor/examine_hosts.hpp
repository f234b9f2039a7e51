// The launcher's side of `ddprun doctor --hosts`, with and without --bench.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/chosen_hosts.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/finding.hpp"
#include "launcher/doctor/host_talks.hpp"
#include "launcher/doctor/reading.hpp"
#include "launcher/hosts/host_list.hpp"

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

struct HostsExamination {
  std::vector<NodeReading> readings;  // one for each host that was reached
  Findings unreached;                 // one for each other host
  std::optional<Measurements> measured;
};

/// Asks all hosts at the same time: what they read, what their clocks show, and whether they reach
/// each other. `wish` is for all of them. A host that is this machine needs no connection. With
/// `bench`, it also measures how fast they and the links between them are.
HostsExamination examine_hosts(const std::vector<Host>& hosts, const HostReach& reach,
                               const Examine& wish, bool bench);

}  // namespace ddprun
