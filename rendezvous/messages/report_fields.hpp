// The tables of structs that messages share with reports, statuses or workers, to write or read
// them as JSON.
#pragma once

#include <utility>

#include "base/json/json_fields.hpp"
#include "base/node_load.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/kept_checkpoints.hpp"
#include "rendezvous/messages/straggler.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<NodeLoad> = table(
    field<&NodeLoad::cpus>("cpus"), field<&NodeLoad::cpu_percent>("cpu_percent"),
    field<&NodeLoad::memory_used_bytes>("memory_used_bytes"),
    field<&NodeLoad::memory_bytes>("memory_bytes"), field<&NodeLoad::gpus>("gpus"),
    field<&NodeLoad::gpu_percent>("gpu_percent"),
    field<&NodeLoad::gpu_memory_used_bytes>("gpu_memory_used_bytes"),
    field<&NodeLoad::gpu_memory_bytes>("gpu_memory_bytes"));
// clang-format on

constexpr TextLimit kCheckpointName{255};  // as long as a file's may be

// clang-format off
template <> inline constexpr auto kFields<KeptCheckpoints> = table(
    text<&KeptCheckpoints::newest>("newest", kCheckpointName),
    field<&KeptCheckpoints::bytes>("bytes"), field<&KeptCheckpoints::age_ms>("age_ms"),
    text<&KeptCheckpoints::written>("written", kCheckpointName),
    if_known(field<&KeptCheckpoints::written_bytes>("written_bytes")),
    if_known(field<&KeptCheckpoints::written_age_ms>("written_age_ms")),
    if_known(field<&KeptCheckpoints::put_back>("put_back")));
// clang-format on

// The tables of the times of a job, to write or read them as JSON.

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
    if_known(field<&RestartTimes::first_step_ms>("first_step_ms")),
    if_known(field<&RestartTimes::steps_again>("steps_again")),
    if_any(field<&RestartTimes::again_at_least>("again_at_least")));
template <> inline constexpr auto kFields<Goodput> = table(
    field<&Goodput::wall_s>("wall_s"), field<&Goodput::training_s>("training_s"),
    field<&Goodput::restarts_s>("restarts_s"), field<&Goodput::restarts>("restarts"),
    if_known(field<&Goodput::lost_steps>("lost_steps")), field<&Goodput::lost_s>("lost_s"),
    if_known(field<&Goodput::goodput_percent>("goodput_percent")),
    if_known(field<&Goodput::startup_s>("startup_s")),
    may_miss(field<&Goodput::changes>("changes")),
    if_any(field<&Goodput::lost_at_least>("lost_at_least")));
// clang-format on

// The tables of HangReport and its parts, to write or read them as JSON.

constexpr TextLimit kHangSentence{1024};
constexpr TextLimit kHangName{64};
constexpr TextLimit kRanks{512};  // a list of ranks
constexpr TextLimit kStack{3000};
constexpr TextLimit kHostOfStraggler{256};
constexpr TextLimit kDebuggedAt{128};
constexpr TextLimit kDebuggedWhy{256};

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
template <> inline constexpr auto kFields<Straggler> = table(
    text<&Straggler::ranks>("ranks", kRanks), text<&Straggler::node>("node", kHostOfStraggler),
    field<&Straggler::cost_percent>("cost_percent"), field<&Straggler::late_us>("late_us"),
    field<&Straggler::step_us>("step_us"), field<&Straggler::lasts_ms>("lasts_ms"),
    text<&Straggler::why>("why", kHangSentence),
    text<&Straggler::sentence>("sentence", kHangSentence));
template <> inline constexpr auto kFields<DebuggedRank> = table(
    field<&DebuggedRank::rank>("rank"), field<&DebuggedRank::waits>("waits"),
    text<&DebuggedRank::at>("at", kDebuggedAt), text<&DebuggedRank::why>("why", kDebuggedWhy));
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

// The tables of WorkerFailure, WorkerEnd and Verdict and their parts, to write or read them as
// JSON.

constexpr TextLimit kFaultText{600};  // for an exception: a name, a path, the first lines
constexpr TextLimit kFaultStack{900};

// A failure's texts are for a report that somebody reads. Of a traceback the end says most.
constexpr TextLimit kExceptionText{16 * 1024};
constexpr TextLimit kTraceback{16 * 1024, TextLimit::Keep::kEnd};
constexpr TextLimit kOutputLine{1000};
constexpr std::size_t kOutputLinesMax = 20;
constexpr TextLimit kPath{4096};
constexpr TextLimit kNote{1024};  // one line of ours

// clang-format off
template <> inline constexpr auto kNames<JobOutcome> =
    []<std::size_t... kIndexes>(std::index_sequence<kIndexes...>) {
      return std::array{Named{kOutcomes[kIndexes].value, kOutcomes[kIndexes].name}...};
    }(std::make_index_sequence<kOutcomes.size()>{});
template <> inline constexpr auto kNames<FailureKind> = std::to_array<Named>({
    {FailureKind::kExitCode, "exit_code"}, {FailureKind::kSignal, "signal"},
    {FailureKind::kException, "exception"}, {FailureKind::kOutOfMemory, "out_of_memory"},
    {FailureKind::kHang, "hang"}, {FailureKind::kNodeLost, "node_lost"},
    {FailureKind::kCannotStart, "cannot_start"}});
template <> inline constexpr auto kNames<Blame> = std::to_array<Named>({
    {Blame::kOwn, "own"}, {Blame::kPerhaps, "perhaps"}, {Blame::kFollows, "follows"},
    {Blame::kStopped, "stopped"}, {Blame::kDone, "done"}});
template <> inline constexpr auto kNames<Consequence> = std::to_array<Named>({
    {Consequence::kNone, "none"}, {Consequence::kCollectiveTimedOut, "collective_timed_out"},
    {Consequence::kConnectionClosed, "connection_closed"},
    {Consequence::kConnectionReset, "connection_reset"}, {Consequence::kBrokenPipe, "broken_pipe"},
    {Consequence::kNcclLostRank, "nccl_lost_rank"},
    {Consequence::kConnectionRefused, "connection_refused"},
    {Consequence::kConnectionTimedOut, "connection_timed_out"},
    {Consequence::kNodeUnreachable, "node_unreachable"}, {Consequence::kStoreLost, "store_lost"},
    {Consequence::kStoreTimedOut, "store_timed_out"},
    {Consequence::kForeignSignal, "foreign_signal"}});
template <> inline constexpr auto kFields<ExitStatus> = table(
    field<&ExitStatus::code>("code"), field<&ExitStatus::signal>("signal"),
    field<&ExitStatus::core_dumped>("core_dumped"));
template <> inline constexpr auto kFields<WorkerFailure> = table(
    text<&WorkerFailure::host>("host", TextLimit{kHostBytesMax}),
    field<&WorkerFailure::group_rank>("group_rank"), field<&WorkerFailure::rank>("rank"),
    field<&WorkerFailure::local_rank>("local_rank"), field<&WorkerFailure::pid>("pid"),
    field<&WorkerFailure::status>("status"), field<&WorkerFailure::time_unix_ms>("time_unix_ms"),
    text<&WorkerFailure::evidence>("evidence", kNote),
    text<&WorkerFailure::message>("message", kExceptionText),
    text<&WorkerFailure::traceback>("traceback", kTraceback),
    text<&WorkerFailure::error_file>("error_file", kPath),
    text<&WorkerFailure::log_file>("log_file", kNote),
    text<&WorkerFailure::last_heartbeat>("last_heartbeat", kNote),
    texts<&WorkerFailure::last_lines>("last_lines", kOutputLine, kOutputLinesMax));
template <> inline constexpr auto kFields<Fault> = table(
    text<&Fault::type>("type", kFaultText), text<&Fault::message>("message", kFaultText),
    text<&Fault::file>("file", kFaultText), field<&Fault::line>("line"),
    text<&Fault::function>("function", kHangName));
template <> inline constexpr auto kFields<WorkerEnd> = table(
    text<&WorkerEnd::ranks>("ranks", kRanks), field<&WorkerEnd::kind>("kind"),
    field<&WorkerEnd::blame>("blame"), field<&WorkerEnd::consequence>("consequence"),
    field<&WorkerEnd::status>("status"), field<&WorkerEnd::fault>("fault"),
    text<&WorkerEnd::stack>("stack", kFaultStack), text<&WorkerEnd::says>("says", kRanks),
    text<&WorkerEnd::hint>("hint", kRanks), field<&WorkerEnd::began_us>("began_us"),
    field<&WorkerEnd::ended_us>("ended_us"));
template <> inline constexpr auto kFields<Cause> = table(
    field<&Cause::kind>("kind"), text<&Cause::ranks>("ranks", kRanks),
    text<&Cause::node>("node", TextLimit{kHostBytesMax}), field<&Cause::status>("status"),
    field<&Cause::fault>("fault"), text<&Cause::stack>("stack", kFaultStack),
    text<&Cause::sentence>("sentence", kHangSentence), text<&Cause::hint>("hint", kRanks),
    text<&Cause::fingerprint>("fingerprint", kHangSentence));
template <> inline constexpr auto kFields<Followers> = table(
    text<&Followers::ranks>("ranks", kRanks), field<&Followers::kind>("kind"),
    text<&Followers::what>("what", kRanks), field<&Followers::after_us>("after_us"),
    field<&Followers::stopped_by_us>("stopped_by_us"));
template <> inline constexpr auto kFields<Verdict> = table(
    field<&Verdict::cause>("cause"), list<&Verdict::also>("also", kOtherCausesMax),
    list<&Verdict::followers>("followers", kFollowersMax),
    text<&Verdict::history>("history", kHangSentence),
    text<&Verdict::no_restart>("no_restart", kHangSentence));
// clang-format on

}  // namespace ddprun::fields
