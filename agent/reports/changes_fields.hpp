// The tables of what differs from the last good run, for whoever writes or reads it as JSON.
#pragma once

#include <array>
#include <tuple>

#include "agent/reports/changes.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kChangeName{200}, kChangeValue{400}, kWhen{40};

// clang-format off
template <> inline constexpr auto kNames<ChangeKind> = std::to_array<Named<ChangeKind>>({
    {ChangeKind::kFile, "file"}, {ChangeKind::kArguments, "arguments"},
    {ChangeKind::kOption, "option"}, {ChangeKind::kVariable, "variable"},
    {ChangeKind::kVersion, "version"}, {ChangeKind::kProgram, "program"},
    {ChangeKind::kNumber, "number"}, {ChangeKind::kNode, "node"}});
template <> inline constexpr auto kFields<Change> = std::tuple{
    field("kind", &Change::kind), text("what", &Change::what, kChangeName),
    text("before", &Change::before, kChangeValue), text("now", &Change::now, kChangeValue)};
template <> inline constexpr auto kFields<SinceGoodRun> = std::tuple{
    text("when", &SinceGoodRun::when, kWhen), field("age_s", &SinceGoodRun::age_s),
    list("changes", &SinceGoodRun::changes, kChangesMax)};
// clang-format on

}  // namespace ddprun::fields
