// What restarts cost, and where the time of a job went, for people: a line each. Pure.
#pragma once

#include <string>

#include "rendezvous/messages/job_times.hpp"

namespace ddprun {

/// "round 1 → 2 (node h2 lost): noticed 4.0 ms, stopped 31 ms, ..., first step 1.9 s".
std::string times_text(const RestartTimes& times);

/// "100.0 s in all, 97.0 s of them in training, 1.0 s in 2 restarts: goodput 97.0 %".
std::string times_text(const Goodput& times);

}  // namespace ddprun
