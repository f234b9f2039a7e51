// The settings of a command line that is about a job become a Launch.
#pragma once

#include <optional>

#include "launcher/settings/arguments.hpp"
#include "launcher/settings/cluster_place.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

inline constexpr int kC10dPort = 29'400;  // of torchrun's c10d rendezvous

/// `meeting`: how nodes meet when a scheduler tells it. Errors: kInvalid, with a sentence that
/// names the option, the value and what is accepted; kNotFound and kDenied for the program to run.
Result<Launch> interpret(const Arguments& arguments, const Surroundings& surroundings,
                         std::optional<ClusterMeeting> meeting);

}  // namespace ddprun
