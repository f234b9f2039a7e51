// The launcher's side of `ddprun doctor --hosts`, with and without --bench.
#pragma once

#include <optional>
#include <vector>

#include "launcher/doctor/ask/chosen_hosts.hpp"
#include "launcher/doctor/ask/doctor_messages.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/reading.hpp"
#include "launcher/hosts/host_list.hpp"

namespace ddprun {

struct HostsExamination {
  std::vector<NodeReading> readings;  // one for each host that was reached
  Findings unreached;                 // one for each other host
  std::optional<Measurements> measured;
};

/// Asks all hosts at the same time: what they read, what their clocks show, and whether they reach
/// each other. `wish` is for all of them. A host that is this machine needs no connection.
///
/// With `bench`, it also measures all hosts, each machine's one after the other, and then the links
/// in rounds. What looks slow is measured once more, and the better figure counts.
HostsExamination examine_hosts(const std::vector<Host>& hosts, const HostReach& reach,
                               const Examine& wish, bool bench);

}  // namespace ddprun
