// Reads the options that say how often and how soon workers are restarted after failures:
// --max-restarts, --restart-delay and --same-failure-limit. Pure.
#pragma once

#include "base/result.hpp"
#include "launcher/settings/arguments.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

/// The restarts that a job may have, and which of them count.
struct RestartRules {
  int restarts_max = 0;
  RestartPolicy policy;
};

/// Reads "3", "3/1h" and "3@progress", a pause as "5" or "0:60", and a limit from 2 up, of which ""
/// is none. Errors: kInvalid, a sentence with the option, its value and what is accepted.
Result<RestartRules> parse_restarts(const Settings& settings);

}  // namespace ddprun
