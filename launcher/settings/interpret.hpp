// Makes a Launch of the settings of a command line that is about a job on this node. Pure.
#pragma once

#include "launcher/settings/arguments.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// `place` tells who has started this ddprun, where that is not the user. Errors: kInvalid, with a
/// sentence that names the option, the value and what is accepted; kNotFound and kDenied for the
/// program to run.
Result<Launch> interpret(const Arguments& arguments, const LocalSystem& system,
                         const MeetingPlace& place);

}  // namespace ddprun
