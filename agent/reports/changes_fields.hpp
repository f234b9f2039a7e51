// The tables of what differs from the last good run, to write or read it as JSON.
#pragma once

#include <array>

#include "agent/reports/changes.hpp"
#include "base/json/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kChangeName{200}, kChangeValue{400}, kWhen{40};

// clang-format off
template <> inline constexpr auto kNames<ChangeKind> = std::to_array<Named>({
    {ChangeKind::kFile, "file"}, {ChangeKind::kArguments, "arguments"},
    {ChangeKind::kOption, "option"}, {ChangeKind::kVariable, "variable"},
    {ChangeKind::kVersion, "version"}, {ChangeKind::kProgram, "program"},
    {ChangeKind::kNumber, "number"}, {ChangeKind::kNode, "node"}});
template <> inline constexpr auto kFields<Change> = table(
    field<&Change::kind>("kind"), text<&Change::what>("what", kChangeName),
    text<&Change::before>("before", kChangeValue), text<&Change::now>("now", kChangeValue));
template <> inline constexpr auto kFields<SinceGoodRun> = table(
    text<&SinceGoodRun::when>("when", kWhen), field<&SinceGoodRun::age_s>("age_s"),
    list<&SinceGoodRun::changes>("changes", kChangesMax));
// clang-format on

}  // namespace ddprun::fields
