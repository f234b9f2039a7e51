// The tables of WorkerFailure, WorkerEnd and Verdict and their parts, to write or read them as
// JSON.
#pragma once

#include <utility>

#include "rendezvous/messages/hang_fields.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun::fields {

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
