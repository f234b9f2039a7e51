// How this process was called. It is shown on the status page and written to the event log.
#pragma once

#include <string>

namespace ddprun {

/// This process's command line as its user would type it again, without secrets; "": /proc does not
/// tell.
std::string own_command_line();

}  // namespace ddprun
