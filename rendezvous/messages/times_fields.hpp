// The tables of what is told of the times of a job, for whoever writes or reads them as JSON.
#pragma once

#include <tuple>

#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kRestartReason{300};

// clang-format off
template <> inline constexpr auto kFields<RestartTimes> = std::tuple{
    field("round", &RestartTimes::round), field("from_round", &RestartTimes::from_round),
    text("reason", &RestartTimes::reason, kRestartReason),
    field("in_place", &RestartTimes::in_place),
    if_known(field("awaits_step", &RestartTimes::awaits_step)),  // older reports lack it
    if_known(field("detected_ms", &RestartTimes::detected_ms)),
    if_known(field("stopped_ms", &RestartTimes::stopped_ms)),
    if_known(field("sealed_ms", &RestartTimes::sealed_ms)),
    if_known(field("started_ms", &RestartTimes::started_ms)),
    if_known(field("first_step_ms", &RestartTimes::first_step_ms))};
template <> inline constexpr auto kFields<Goodput> = std::tuple{
    field("wall_s", &Goodput::wall_s), field("training_s", &Goodput::training_s),
    field("restarts_s", &Goodput::restarts_s), field("restarts", &Goodput::restarts),
    if_known(field("lost_steps", &Goodput::lost_steps)), field("lost_s", &Goodput::lost_s),
    if_known(field("goodput_percent", &Goodput::goodput_percent))};
// clang-format on

}  // namespace ddprun::fields
