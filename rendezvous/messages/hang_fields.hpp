// The tables of HangReport and its parts, to write or read them as JSON.
#pragma once

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/hang_report.hpp"

namespace ddprun::fields {

constexpr TextLimit kHangSentence{1024};
constexpr TextLimit kHangName{64};
constexpr TextLimit kRanks{512};  // a list of ranks
constexpr TextLimit kStack{3000};

// clang-format off
template <> inline constexpr auto kNames<HeldUp> = std::to_array<Named>({
    {HeldUp::kNo, "no"}, {HeldUp::kFailed, "failed"},
    {HeldUp::kGaveUp, "gave_up"}, {HeldUp::kEnded, "ended"},
    {HeldUp::kStopped, "stopped"}, {HeldUp::kInKernel, "in_kernel"},
    {HeldUp::kKeepsLock, "keeps_lock"}});
template <> inline constexpr auto kFields<StackGroup> = table(
    text<&StackGroup::ranks>("ranks", kRanks), field<&StackGroup::held_up>("held_up"),
    text<&StackGroup::doing>("doing", kRanks),
    text<&StackGroup::stack>("stack", kStack), text<&StackGroup::operation>("operation", kHangName),
    text<&StackGroup::group>("group", kHangName), field<&StackGroup::sequence>("sequence"),
    text<&StackGroup::shapes>("shapes", kHangName));
using HangKind = HangReport::Kind;
template <> inline constexpr auto kNames<HangKind> = std::to_array<Named>({
    {HangKind::kMissing, "missing"}, {HangKind::kDeadlock, "deadlock"},
    {HangKind::kNoProgress, "no_progress"}});
template <> inline constexpr auto kFields<HangReport> = table(
    field<&HangReport::kind>("kind"), text<&HangReport::sentence>("sentence", kHangSentence),
    text<&HangReport::operation>("operation", kHangName),
    text<&HangReport::group>("group", kHangName), field<&HangReport::sequence>("sequence"),
    text<&HangReport::missing_ranks>("missing_ranks", kRanks),
    text<&HangReport::waiting_ranks>("waiting_ranks", kRanks),
    field<&HangReport::silent_ms>("silent_ms"),
    list<&HangReport::stacks>("stacks", kStackGroupsMax));
// clang-format on

}  // namespace ddprun::fields
