// The fields on the wire of in_place_messages.hpp, some of which workers say to their agent, too.
#pragma once

#include <tuple>

#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/json_fields.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<ParkedWorkers> = std::tuple{
    text("local_ranks", &ParkedWorkers::local_ranks, TextLimit{kRankListBytesMax}),
    field("world_size", &ParkedWorkers::world_size)};
template <> inline constexpr auto kFields<WorkersStay> = std::tuple{
    field("round", &WorkersStay::round), field("stay", &WorkersStay::stay)};
template <> inline constexpr auto kFields<Prepared> = std::tuple{};
template <> inline constexpr auto kFields<Holding> = std::tuple{
    field("round", &Holding::round), field("step", &Holding::step)};
template <> inline constexpr auto kFields<LeaveAfter> = std::tuple{
    field("round", &LeaveAfter::round), field("step", &LeaveAfter::step)};
// clang-format on

}  // namespace ddprun::fields
