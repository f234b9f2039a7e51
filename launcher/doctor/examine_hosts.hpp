// The launcher's side of `ddprun doctor --hosts`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/finding.hpp"
#include "launcher/doctor/host_commands.hpp"
#include "launcher/doctor/reading.hpp"
#include "launcher/hosts/host_list.hpp"

namespace ddprun {

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
