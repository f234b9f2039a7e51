// The tables of what differs from the last good run, for whoever writes or reads it as JSON.
#pragma once

#include <tuple>

#include "agent/reports/changes.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kChangeName{200}, kChangeValue{400}, kWhen{40};

// clang-format off
template <> inline constexpr auto kFields<Change> = std::tuple{
    text("what", &Change::what, kChangeName), text("before", &Change::before, kChangeValue),
    text("now", &Change::now, kChangeValue)};
template <> inline constexpr auto kFields<SinceGoodRun> = std::tuple{
    text("when", &SinceGoodRun::when, kWhen), field("age_s", &SinceGoodRun::age_s),
    list("changes", &SinceGoodRun::changes, kChangesMax)};
// clang-format on

}  // namespace ddprun::fields
