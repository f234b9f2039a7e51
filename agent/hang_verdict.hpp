// The verdict on a job whose workers hung until it was stopped. Pure.
#pragma once

#include "rendezvous/wire/hang_report.hpp"
#include "rendezvous/wire/verdict.hpp"

namespace ddprun {

/// The cause are those who did not come, and the line of the user's program at which they are.
/// Where all wait for each other, it is all of them.
Verdict verdict_on(const HangReport& hang);

}  // namespace ddprun
