// The fields on the wire of in_place_messages.hpp, some of which workers say to their agent, too.
#pragma once

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<ParkedWorkers> = table(
    text<&ParkedWorkers::local_ranks>("local_ranks", TextLimit{kRankListBytesMax}),
    field<&ParkedWorkers::world_size>("world_size"));
template <> inline constexpr auto kFields<WorkersStay> = message("workers_stay",
    field<&WorkersStay::round>("round"), field<&WorkersStay::stay>("stay"));
template <> inline constexpr auto kFields<Prepared> = message("prepared");
template <> inline constexpr auto kFields<Holding> = message("holding",
    field<&Holding::round>("round"), field<&Holding::step>("step"));
template <> inline constexpr auto kFields<LeaveAfter> = message("leave_after",
    field<&LeaveAfter::round>("round"), field<&LeaveAfter::step>("step"));
// clang-format on

}  // namespace ddprun::fields
