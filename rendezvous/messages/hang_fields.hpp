// The tables of HangReport and what is in it, for whoever writes or reads them as JSON.
#pragma once

#include <tuple>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kHangSentence{1024};
constexpr TextLimit kHangName{64};
constexpr TextLimit kRanks{512};  // a list of ranks
constexpr TextLimit kStack{3000};

// clang-format off
template <> inline constexpr auto kNames<HeldUp> = std::to_array<Named<HeldUp>>({
    {HeldUp::kNo, "no"}, {HeldUp::kFailed, "failed"},
    {HeldUp::kGaveUp, "gave_up"}, {HeldUp::kEnded, "ended"},
    {HeldUp::kStopped, "stopped"}, {HeldUp::kInKernel, "in_kernel"},
    {HeldUp::kKeepsLock, "keeps_lock"}});
template <> inline constexpr auto kFields<StackGroup> = std::tuple{
    text("ranks", &StackGroup::ranks, kRanks), field("held_up", &StackGroup::held_up),
    text("doing", &StackGroup::doing, kRanks),
    text("stack", &StackGroup::stack, kStack), text("operation", &StackGroup::operation, kHangName),
    text("group", &StackGroup::group, kHangName), field("sequence", &StackGroup::sequence),
    text("shapes", &StackGroup::shapes, kHangName)};
using HangKind = HangReport::Kind;
template <> inline constexpr auto kNames<HangKind> = std::to_array<Named<HangKind>>({
    {HangKind::kMissing, "missing"}, {HangKind::kDeadlock, "deadlock"},
    {HangKind::kNoProgress, "no_progress"}});
template <> inline constexpr auto kFields<HangReport> = std::tuple{
    field("kind", &HangReport::kind), text("sentence", &HangReport::sentence, kHangSentence),
    text("operation", &HangReport::operation, kHangName),
    text("group", &HangReport::group, kHangName), field("sequence", &HangReport::sequence),
    text("missing_ranks", &HangReport::missing_ranks, kRanks),
    text("waiting_ranks", &HangReport::waiting_ranks, kRanks),
    field("silent_ms", &HangReport::silent_ms),
    list("stacks", &HangReport::stacks, kStackGroupsMax)};
// clang-format on

}  // namespace ddprun::fields
