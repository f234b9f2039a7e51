// The tables of WorkerFailure, WorkerEnd and Verdict and what is in them, for whoever writes or
// reads them as JSON.
#pragma once

#include <tuple>

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
template <> inline constexpr auto kNames<JobOutcome> = kOutcomes;
template <> inline constexpr auto kNames<FailureKind> = std::to_array<Named<FailureKind>>({
    {FailureKind::kExitCode, "exit_code"}, {FailureKind::kSignal, "signal"},
    {FailureKind::kException, "exception"}, {FailureKind::kOutOfMemory, "out_of_memory"},
    {FailureKind::kHang, "hang"}, {FailureKind::kNodeLost, "node_lost"},
    {FailureKind::kCannotStart, "cannot_start"}});
template <> inline constexpr auto kNames<Blame> = std::to_array<Named<Blame>>({
    {Blame::kOwn, "own"}, {Blame::kPerhaps, "perhaps"}, {Blame::kFollows, "follows"},
    {Blame::kStopped, "stopped"}, {Blame::kDone, "done"}});
template <> inline constexpr auto kNames<Consequence> = std::to_array<Named<Consequence>>({
    {Consequence::kNone, "none"}, {Consequence::kCollectiveTimedOut, "collective_timed_out"},
    {Consequence::kConnectionClosed, "connection_closed"},
    {Consequence::kConnectionReset, "connection_reset"}, {Consequence::kBrokenPipe, "broken_pipe"},
    {Consequence::kNcclLostRank, "nccl_lost_rank"},
    {Consequence::kConnectionRefused, "connection_refused"},
    {Consequence::kConnectionTimedOut, "connection_timed_out"},
    {Consequence::kNodeUnreachable, "node_unreachable"}, {Consequence::kStoreLost, "store_lost"},
    {Consequence::kStoreTimedOut, "store_timed_out"},
    {Consequence::kForeignSignal, "foreign_signal"}});
template <> inline constexpr auto kFields<ExitStatus> = std::tuple{
    field("code", &ExitStatus::code), field("signal", &ExitStatus::signal),
    field("core_dumped", &ExitStatus::core_dumped)};
template <> inline constexpr auto kFields<WorkerFailure> = std::tuple{
    text("host", &WorkerFailure::host, TextLimit{kHostBytesMax}),
    field("group_rank", &WorkerFailure::group_rank), field("rank", &WorkerFailure::rank),
    field("local_rank", &WorkerFailure::local_rank), field("pid", &WorkerFailure::pid),
    field("status", &WorkerFailure::status), field("time_unix_ms", &WorkerFailure::time_unix_ms),
    text("evidence", &WorkerFailure::evidence, kNote),
    text("message", &WorkerFailure::message, kExceptionText),
    text("traceback", &WorkerFailure::traceback, kTraceback),
    text("error_file", &WorkerFailure::error_file, kPath),
    text("log_file", &WorkerFailure::log_file, kNote),
    text("last_heartbeat", &WorkerFailure::last_heartbeat, kNote),
    texts("last_lines", &WorkerFailure::last_lines, kOutputLine, kOutputLinesMax)};
template <> inline constexpr auto kFields<Fault> = std::tuple{
    text("type", &Fault::type, kFaultText), text("message", &Fault::message, kFaultText),
    text("file", &Fault::file, kFaultText), field("line", &Fault::line),
    text("function", &Fault::function, kHangName)};
template <> inline constexpr auto kFields<WorkerEnd> = std::tuple{
    text("ranks", &WorkerEnd::ranks, kRanks), field("kind", &WorkerEnd::kind),
    field("blame", &WorkerEnd::blame), field("consequence", &WorkerEnd::consequence),
    field("status", &WorkerEnd::status), field("fault", &WorkerEnd::fault),
    text("stack", &WorkerEnd::stack, kFaultStack), text("says", &WorkerEnd::says, kRanks),
    text("hint", &WorkerEnd::hint, kRanks), field("began_us", &WorkerEnd::began_us),
    field("ended_us", &WorkerEnd::ended_us)};
template <> inline constexpr auto kFields<Cause> = std::tuple{
    field("kind", &Cause::kind), text("ranks", &Cause::ranks, kRanks),
    text("node", &Cause::node, TextLimit{kHostBytesMax}), field("status", &Cause::status),
    field("fault", &Cause::fault), text("stack", &Cause::stack, kFaultStack),
    text("sentence", &Cause::sentence, kHangSentence), text("hint", &Cause::hint, kRanks),
    text("fingerprint", &Cause::fingerprint, kHangSentence)};
template <> inline constexpr auto kFields<Followers> = std::tuple{
    text("ranks", &Followers::ranks, kRanks), field("kind", &Followers::kind),
    text("what", &Followers::what, kRanks), field("after_us", &Followers::after_us),
    field("stopped_by_us", &Followers::stopped_by_us)};
template <> inline constexpr auto kFields<Verdict> = std::tuple{
    field("cause", &Verdict::cause), list("also", &Verdict::also, kOtherCausesMax),
    list("followers", &Verdict::followers, kFollowersMax),
    text("history", &Verdict::history, kHangSentence),
    text("no_restart", &Verdict::no_restart, kHangSentence)};
// clang-format on

}  // namespace ddprun::fields
