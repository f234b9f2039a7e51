// The tables of the times of a job, to write or read them as JSON.
#pragma once

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/job_times.hpp"

namespace ddprun::fields {

constexpr TextLimit kRestartReason{300};

// clang-format off
template <> inline constexpr auto kFields<RestartTimes> = table(
    field<&RestartTimes::round>("round"), field<&RestartTimes::from_round>("from_round"),
    text<&RestartTimes::reason>("reason", kRestartReason),
    field<&RestartTimes::in_place>("in_place"),
    may_miss(field<&RestartTimes::awaits_step>("awaits_step")),  // older reports lack it
    if_any(field<&RestartTimes::first_step_seen>("first_step_seen")),
    if_any(field<&RestartTimes::nobody_lost>("nobody_lost")),
    if_known(field<&RestartTimes::detected_ms>("detected_ms")),
    if_known(field<&RestartTimes::stopped_ms>("stopped_ms")),
    if_known(field<&RestartTimes::sealed_ms>("sealed_ms")),
    if_known(field<&RestartTimes::started_ms>("started_ms")),
    if_known(field<&RestartTimes::first_step_ms>("first_step_ms")));
template <> inline constexpr auto kFields<Goodput> = table(
    field<&Goodput::wall_s>("wall_s"), field<&Goodput::training_s>("training_s"),
    field<&Goodput::restarts_s>("restarts_s"), field<&Goodput::restarts>("restarts"),
    if_known(field<&Goodput::lost_steps>("lost_steps")), field<&Goodput::lost_s>("lost_s"),
    if_known(field<&Goodput::goodput_percent>("goodput_percent")),
    if_known(field<&Goodput::startup_s>("startup_s")),
    may_miss(field<&Goodput::changes>("changes")),
    if_any(field<&Goodput::lost_at_least>("lost_at_least")));
// clang-format on

}  // namespace ddprun::fields
