// A node's side of `ddprun doctor --hosts`: what ssh starts there.
#pragma once

namespace ddprun {

/// Answers the questions of doctor_messages.hpp, from standard input to standard output, until the
/// launcher has gone. Returns the exit code. To be called while there is one thread.
int examine_for_launcher();

}  // namespace ddprun
