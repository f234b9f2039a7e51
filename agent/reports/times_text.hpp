// What restarts cost, and where the time of a job went, for people: a line each. Pure.
#pragma once

#include <string>

#include "rendezvous/messages/job_times.hpp"

namespace ddprun {

/// "round 1 → 2 (node h2 lost): noticed 4.0 ms, stopped 31 ms, ..., first step 1.9 s".
std::string times_text(const RestartTimes& times);

/// "100.0 s in all, 2.0 s of start-up, 97.0 s in training, 1.0 s in 2 restarts: goodput 99.0
/// %". What is not known, and what there was not, is left out.
std::string times_text(const Goodput& times);

}  // namespace ddprun
