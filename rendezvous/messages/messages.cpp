#include "rendezvous/messages/messages.hpp"

#include <cassert>
#include <nlohmann/json.hpp>
#include <tuple>

#include "rendezvous/messages/hang_fields.hpp"
#include "rendezvous/messages/in_place_fields.hpp"
#include "rendezvous/messages/json_fields.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/times_fields.hpp"
#include "rendezvous/messages/verdict_fields.hpp"

namespace ddprun {

// The tables of all structs that travel: which fields they have in JSON, and how long their texts
// may be.
namespace fields {

constexpr TextLimit kReason{4096};  // a sentence, with texts of peers in it
constexpr TextLimit kName{64};

/// A name that is cut would be another name. What is kept of one that is too long is still too
/// long, so that the other side refuses it.
constexpr TextLimit name_of(std::size_t bytes_max) { return {bytes_max + 8}; }

// clang-format off
template <> inline constexpr auto kNames<StoreAt> = std::to_array<Named<StoreAt>>({
    {StoreAt::kLeader, "leader"}, {StoreAt::kLocal, "local"}});
template <> inline constexpr auto kNames<OnHang> = std::to_array<Named<OnHang>>({
    {OnHang::kReport, "report"}, {OnHang::kRestart, "restart"}, {OnHang::kStop, "stop"}});

template <> inline constexpr auto kNames<CountedRestarts> = std::to_array<Named<CountedRestarts>>({
    {CountedRestarts::kAll, "all"}, {CountedRestarts::kWithinWindow, "within_window"},
    {CountedRestarts::kSinceProgress, "since_progress"}});

template <> inline constexpr auto kFields<RestartPolicy> = std::tuple{
    field("counted", &RestartPolicy::counted), field("window_ms", &RestartPolicy::window_ms),
    field("delay_min_ms", &RestartPolicy::delay_min_ms),
    field("delay_max_ms", &RestartPolicy::delay_max_ms),
    field("same_failure_limit", &RestartPolicy::same_failure_limit)};
template <> inline constexpr auto kFields<NodePolicy> = std::tuple{
    field("strikes", &NodePolicy::strikes), field("window_ms", &NodePolicy::window_ms)};
template <> inline constexpr auto kFields<JobTerms> = std::tuple{
    field("nodes_min", &JobTerms::nodes_min), field("nodes_max", &JobTerms::nodes_max),
    field("restarts_max", &JobTerms::restarts_max), field("restarts", &JobTerms::restarts),
    field("last_call_timeout_ms", &JobTerms::last_call_timeout_ms),
    field("join_timeout_ms", &JobTerms::join_timeout_ms),
    field("heartbeat_timeout_ms", &JobTerms::heartbeat_timeout_ms),
    field("shutdown_timeout_ms", &JobTerms::shutdown_timeout_ms), field("store", &JobTerms::store),
    field("hang_timeout_ms", &JobTerms::hang_timeout_ms),
    field("on_hang", &JobTerms::on_hang), field("node_policy", &JobTerms::node_policy)};
template <> inline constexpr auto kFields<JobCounters> = std::tuple{
    field("round", &JobCounters::round), field("attempt", &JobCounters::attempt)};

template <> inline constexpr auto kFields<ConfigurationVersion> = std::tuple{
    field("epoch", &ConfigurationVersion::epoch), field("round", &ConfigurationVersion::round),
    field("revision", &ConfigurationVersion::revision)};
template <> inline constexpr auto kFields<Configuration> = std::tuple{
    field("version", &Configuration::version), field("voters", &Configuration::voters),
    field("member", &Configuration::member), field("rank", &Configuration::rank),
    text("awaited", &Configuration::awaited, TextLimit{kRankListBytesMax})};
template <> inline constexpr auto kFields<HostedAssignment> = std::tuple{
    field("round", &HostedAssignment::round), field("nodes", &HostedAssignment::nodes),
    field("group_rank", &HostedAssignment::group_rank), field("first_rank", &HostedAssignment::first_rank),
    field("world_size", &HostedAssignment::world_size), field("store_port", &HostedAssignment::store_port),
    text("vacant", &HostedAssignment::vacant, TextLimit{kRankListBytesMax})};
template <> inline constexpr auto kFields<VoterState> = std::tuple{
    field("epoch", &VoterState::epoch), field("promised", &VoterState::promised),
    field("proposed", &VoterState::proposed), field("committed", &VoterState::committed),
    field("running", &VoterState::running), field("old_lease_ms", &VoterState::old_lease_ms),
    text("dead_ranks", &VoterState::dead_ranks, TextLimit{kRankListBytesMax}),
    field("spares", &VoterState::spares), field("leader_dead", &VoterState::leader_dead), field("leader_is_member", &VoterState::leader_is_member),
    text("leader", &VoterState::leader, name_of(kEndpointBytesMax)),
    field("standby_port", &VoterState::standby_port), field("colocated", &VoterState::colocated),
    field("assignment", &VoterState::assignment)};
template <> inline constexpr auto kFields<Join> = std::tuple{
    field("protocol", &Join::protocol), text("run_id", &Join::run_id, name_of(kRunIdBytesMax)),
    text("node", &Join::node, name_of(kNodeIdBytesMax)), field("incarnation", &Join::incarnation),
    field("counters", &Join::counters), text("host", &Join::host, name_of(kHostBytesMax)),
    field("workers", &Join::workers), text("role", &Join::role, name_of(kRoleBytesMax)),
    field("node_rank", &Join::node_rank), field("terms", &Join::terms),
   
    field("voter", &Join::voter), field("place", &Join::place),
    field("witness", &Join::witness), field("parked", &Join::parked),
    field("check_ms", &Join::check_ms), text("unfit", &Join::unfit, kReason)};
template <> inline constexpr auto kFields<Beat> = std::tuple{
    field("clock_us", &Beat::clock_us), field("echo_us", &Beat::echo_us),
    field("round", &Beat::round), field("committed", &Beat::committed),
    field("epoch", &Beat::epoch), field("revision", &Beat::revision),
    field("committed_nodes", &Beat::committed_nodes),
    field("lease_ms", &Beat::lease_ms), field("spares", &Beat::spares),
    field("keep", &Beat::keep)};
template <> inline constexpr auto kFields<Identify> = std::tuple{
    text("run_id", &Identify::run_id, name_of(kRunIdBytesMax)),
    field("epoch", &Identify::epoch),
    text("coordinator", &Identify::coordinator, name_of(kEndpointBytesMax))};
template <> inline constexpr auto kFields<InviteWitness> = std::tuple{
    text("run_id", &InviteWitness::run_id, name_of(kRunIdBytesMax)), field("epoch", &InviteWitness::epoch),
    field("round", &InviteWitness::round),
    text("coordinator", &InviteWitness::coordinator, name_of(kEndpointBytesMax)),
    field("join_timeout_ms", &InviteWitness::join_timeout_ms)};
template <> inline constexpr auto kFields<Vote> = std::tuple{
    field("epoch", &Vote::epoch), field("echo_us", &Vote::echo_us)};
template <> inline constexpr auto kFields<WorkerFailed> = std::tuple{
    field("round", &WorkerFailed::round), field("failure", &WorkerFailed::failure),
    field("end", &WorkerFailed::end), field("age_ms", &WorkerFailed::age_ms),
    field("left", &WorkerFailed::left)};
template <> inline constexpr auto kFields<WorkersFinished> = std::tuple{
    field("round", &WorkersFinished::round)};
template <> inline constexpr auto kFields<WorkersStopped> = std::tuple{
    field("round", &WorkersStopped::round), field("parked", &WorkersStopped::parked)};
template <> inline constexpr auto kFields<WorkersStarted> = std::tuple{
    field("round", &WorkersStarted::round)};
template <> inline constexpr auto kFields<Fitness> = std::tuple{
    text("unfit", &Fitness::unfit, kReason)};
template <> inline constexpr auto kFields<Preempt> = std::tuple{
    text("reason", &Preempt::reason, kReason), field("checkpoint_ms", &Preempt::checkpoint_ms)};
template <> inline constexpr auto kFields<Leave> = std::tuple{
    text("reason", &Leave::reason, kReason)};
template <> inline constexpr auto kFields<GroupProgress> = std::tuple{
    text("group", &GroupProgress::group, kName), field("enqueued", &GroupProgress::enqueued),
    field("completed", &GroupProgress::completed)};
template <> inline constexpr auto kFields<RankProgress> = std::tuple{
    field("rank", &RankProgress::rank), field("ended", &RankProgress::ended),
    field("stayed", &RankProgress::stayed), field("watched", &RankProgress::watched),
    list("groups", &RankProgress::groups, kProgressGroupsMax),
    text("waits_in", &RankProgress::waits_in, kName), field("idle", &RankProgress::idle),
    field("busy", &RankProgress::busy), field("paused_ms", &RankProgress::paused_ms),
    field("still_ms", &RankProgress::still_ms), field("look_ms", &RankProgress::look_ms),
    field("step", &RankProgress::step),
    field("steps", &RankProgress::steps), field("has_loss", &RankProgress::has_loss),
    field("loss", &RankProgress::loss),
    field("samples_per_second", &RankProgress::samples_per_second),
    field("left_s", &RankProgress::left_s)};
template <> inline constexpr auto kFields<Progress> = std::tuple{
    field("round", &Progress::round), list("ranks", &Progress::ranks, kProgressRanksMax)};
template <> inline constexpr auto kFields<Inspected> = std::tuple{
    field("inspection", &Inspected::inspection), field("workers", &Inspected::workers),
    field("last", &Inspected::last)};

template <> inline constexpr auto kFields<AskStatus> = std::tuple{
    field("question", &AskStatus::question)};
template <> inline constexpr auto kFields<AskDump> = std::tuple{
    field("question", &AskDump::question)};
template <> inline constexpr auto kFields<WorkersEnded> = std::tuple{
    field("round", &WorkersEnded::round), field("step", &WorkersEnded::step),
    list("ends", &WorkersEnded::ends, kWorkerEndsMax)};

template <> inline constexpr auto kFields<Joined> = std::tuple{
    field("heartbeat_timeout_ms", &Joined::heartbeat_timeout_ms),
   
    field("clock_us", &Joined::clock_us), field("epoch", &Joined::epoch),
    field("resumed", &Joined::resumed),
    field("keeps_workers", &Joined::keeps_workers)};
template <> inline constexpr auto kFields<Refused> = std::tuple{
    text("reason", &Refused::reason, kReason), field("other_job", &Refused::other_job)};
template <> inline constexpr auto kFields<Waiting> = std::tuple{
    field("nodes", &Waiting::nodes), field("nodes_min", &Waiting::nodes_min),
    field("nodes_max", &Waiting::nodes_max), field("left_ms", &Waiting::left_ms),
    field("pause_ms", &Waiting::pause_ms),
    field("clock_us", &Waiting::clock_us), field("echo_us", &Waiting::echo_us),
    field("lease_ms", &Waiting::lease_ms), field("objected", &Waiting::objected)};
template <> inline constexpr auto kFields<Successor> = std::tuple{
    text("endpoint", &Successor::endpoint, name_of(kEndpointBytesMax)),
    field("rank", &Successor::rank)};
template <> inline constexpr auto kFields<Spare> = std::tuple{
    field("round", &Spare::round), field("attempt", &Spare::attempt),
    field("nodes", &Spare::nodes), field("epoch", &Spare::epoch),
    field("committed", &Spare::committed),
    list("successors", &Spare::successors, kSuccessorsMax),
    text("objection", &Spare::objection, kReason)};
template <> inline constexpr auto kFields<Identity> = std::tuple{
    text("jobs", &Identity::jobs, kReason), field("pid", &Identity::pid),
    text("host", &Identity::host, TextLimit{kHostBytesMax}),
    field("epoch", &Identity::epoch),
    text("coordinator", &Identity::coordinator, name_of(kEndpointBytesMax)),
    field("witness", &Identity::witness)};
template <> inline constexpr auto kFields<StartRound> = std::tuple{
    field("round", &StartRound::round), field("attempt", &StartRound::attempt),
    field("group_rank", &StartRound::group_rank),
    field("group_world_size", &StartRound::group_world_size),
    field("first_rank", &StartRound::first_rank), field("world_size", &StartRound::world_size),
    field("first_role_rank", &StartRound::first_role_rank),
    field("role_world_size", &StartRound::role_world_size),
    text("master_addr", &StartRound::master_addr, kNote),
    field("master_port", &StartRound::master_port),
    field("epoch", &StartRound::epoch), field("lease_ms", &StartRound::lease_ms),
    field("committed", &StartRound::committed),
    list("successors", &StartRound::successors, kSuccessorsMax),
    field("leader_rank", &StartRound::leader_rank),
    text("awaited", &StartRound::awaited, TextLimit{kRankListBytesMax}),
    text("vacant", &StartRound::vacant, TextLimit{kRankListBytesMax}),
    text("node_note", &StartRound::node_note, kReason)};
template <> inline constexpr auto kFields<Prepare> = std::tuple{
    field("waits", &Prepare::waits), field("place", &Prepare::place)};
template <> inline constexpr auto kFields<Reconfigure> = std::tuple{
    field("round", &Reconfigure::round), field("witnessed", &Reconfigure::witnessed),
    field("leader_is_member", &Reconfigure::leader_is_member)};
template <> inline constexpr auto kFields<StopRound> = std::tuple{
    field("round", &StopRound::round), field("attempt", &StopRound::attempt),
    text("reason", &StopRound::reason, kReason), field("checkpoint_ms", &StopRound::checkpoint_ms),
    field("at_once", &StopRound::at_once), field("keep", &StopRound::keep),
    text("evict", &StopRound::evict, kRanks), field("gently", &StopRound::gently), field("discard", &StopRound::discard),
    field("last", &StopRound::last)};
template <> inline constexpr auto kFields<Candidate> = std::tuple{field("votes", &Candidate::votes)};
template <> inline constexpr auto kFields<RequestVote> = std::tuple{
    field("epoch", &RequestVote::epoch), field("clock_us", &RequestVote::clock_us)};
template <> inline constexpr auto kFields<Redirect> = std::tuple{
    text("coordinator", &Redirect::coordinator, name_of(kEndpointBytesMax)),
    field("epoch", &Redirect::epoch)};
template <> inline constexpr auto kFields<EndJob> = std::tuple{
    field("outcome", &EndJob::outcome), field("restarts", &EndJob::restarts),
    text("message", &EndJob::message, kReason), field("failure", &EndJob::failure),
    field("held", &EndJob::held)};
template <> inline constexpr auto kFields<EndAcknowledged> = std::tuple{};
template <> inline constexpr auto kFields<FinalStatus> = std::tuple{field("end", &FinalStatus::end)};
template <> inline constexpr auto kFields<Dismiss> = std::tuple{};
template <> inline constexpr auto kFields<Inspect> = std::tuple{
    field("round", &Inspect::round), field("inspection", &Inspect::inspection),
    field("stopping", &Inspect::stopping),
    text("first", &Inspect::first, kRanks), field("patience_ms", &Inspect::patience_ms)};
template <> inline constexpr auto kFields<HangFound> = std::tuple{
    field("round", &HangFound::round), field("report", &HangFound::report)};
template <> inline constexpr auto kFields<Restarted> = std::tuple{
    field("times", &Restarted::times)};
template <> inline constexpr auto kFields<JobTimes> = std::tuple{
    list("restarts", &JobTimes::restarts, kRestartsToldMax),
    field("goodput", &JobTimes::goodput)};
template <> inline constexpr auto kFields<HangOver> = std::tuple{
    field("round", &HangOver::round), field("lasted_ms", &HangOver::lasted_ms)};
template <> inline constexpr auto kFields<StatusPart> = std::tuple{
    field("question", &StatusPart::question),
    text("text", &StatusPart::text, TextLimit{kStatusPartBytesMax}),
    field("last", &StatusPart::last)};
template <> inline constexpr auto kFields<DumpPart> = std::tuple{
    field("question", &DumpPart::question),
    text("text", &DumpPart::text, TextLimit{kStatusPartBytesMax}),
    field("last", &DumpPart::last)};
template <> inline constexpr auto kFields<VerdictFound> = std::tuple{
    field("verdict", &VerdictFound::verdict)};
// clang-format on

}  // namespace fields

namespace {

using nlohmann::json;

// clang-format off
constexpr const char* type_of(const Join&) { return "join"; }
constexpr const char* type_of(const Beat&) { return "beat"; }
constexpr const char* type_of(const Identify&) { return "identify"; }
constexpr const char* type_of(const WorkerFailed&) { return "worker_failed"; }
constexpr const char* type_of(const WorkersFinished&) { return "workers_finished"; }
constexpr const char* type_of(const WorkersStopped&) { return "workers_stopped"; }
constexpr const char* type_of(const Fitness&) { return "fitness"; }
constexpr const char* type_of(const Preempt&) { return "preempt"; }
constexpr const char* type_of(const Leave&) { return "leave"; }
constexpr const char* type_of(const Progress&) { return "progress"; }
constexpr const char* type_of(const WorkersStarted&) { return "workers_started"; }
constexpr const char* type_of(const WorkersStay&) { return "workers_stay"; }
constexpr const char* type_of(const Prepared&) { return "prepared"; }
constexpr const char* type_of(const Holding&) { return "holding"; }
constexpr const char* type_of(const Inspected&) { return "inspected"; }
constexpr const char* type_of(const AskStatus&) { return "ask_status"; }
constexpr const char* type_of(const AskDump&) { return "ask_dump"; }
constexpr const char* type_of(const WorkersEnded&) { return "workers_ended"; }
constexpr const char* type_of(const Vote&) { return "vote"; }
constexpr const char* type_of(const EndAcknowledged&) { return "end_acknowledged"; }
constexpr const char* type_of(const FinalStatus&) { return "final_status"; }
constexpr const char* type_of(const InviteWitness&) { return "invite_witness"; }
constexpr const char* type_of(const Dismiss&) { return "dismiss"; }
constexpr const char* type_of(const Reconfigure&) { return "reconfigure"; }
constexpr const char* type_of(const Candidate&) { return "candidate"; }
constexpr const char* type_of(const RequestVote&) { return "request_vote"; }
constexpr const char* type_of(const Redirect&) { return "redirect"; }
constexpr const char* type_of(const Joined&) { return "joined"; }
constexpr const char* type_of(const Refused&) { return "refused"; }
constexpr const char* type_of(const Waiting&) { return "waiting"; }
constexpr const char* type_of(const Spare&) { return "spare"; }
constexpr const char* type_of(const Identity&) { return "identity"; }
constexpr const char* type_of(const StartRound&) { return "start_round"; }
constexpr const char* type_of(const Prepare&) { return "prepare"; }
constexpr const char* type_of(const StopRound&) { return "stop_round"; }
constexpr const char* type_of(const LeaveAfter&) { return "leave_after"; }
constexpr const char* type_of(const EndJob&) { return "end_job"; }
constexpr const char* type_of(const Inspect&) { return "inspect"; }
constexpr const char* type_of(const HangFound&) { return "hang_found"; }
constexpr const char* type_of(const HangOver&) { return "hang_over"; }
constexpr const char* type_of(const Restarted&) { return "restarted"; }
constexpr const char* type_of(const JobTimes&) { return "job_times"; }
constexpr const char* type_of(const StatusPart&) { return "status_part"; }
constexpr const char* type_of(const DumpPart&) { return "dump_part"; }
constexpr const char* type_of(const VerdictFound&) { return "verdict"; }
// clang-format on

constexpr std::size_t kTypeBytesMax = 64;  // for "type", its value, a comma and the newline

template <typename Variant>
constexpr bool kFitsLine = false;
template <typename... Messages>
constexpr bool kFitsLine<std::variant<Messages...>> =
    ((fields::longest<Messages>() + kTypeBytesMax <= kLineBytesMax) && ...);

template <typename Variant>
std::string encode_line(const Variant& message) {
  static_assert(kFitsLine<Variant>, "a message may become longer than the other side accepts");
  json out = std::visit([](const auto& m) { return fields::to_object(m); }, message);
  out["type"] = std::visit([](const auto& m) { return type_of(m); }, message);
  std::string line = out.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  assert(line.size() <= kLineBytesMax);
  return line;
}

/// A Join of another version may have other fields, so this is looked at before them. Returns the
/// sentence for the node's user; nullopt when the versions agree.
std::optional<std::string> other_version(const json& join) {
  const auto version = join.find("protocol");
  if (version == join.end() || *version == kProtocolVersion) return std::nullopt;
  const auto host = join.find("host");
  const bool named = host != join.end() && host->is_string();
  return "this job speaks protocol version " + std::to_string(kProtocolVersion) + ", the agent" +
         (named ? " on " + host->get<std::string>() : "") + " version " +
         fields::ascii_line(*version) + ": use the same ddprun on all nodes";
}

/// Decodes `in` as the alternative of `Variant` whose type is `type`.
template <typename Variant, std::size_t kIndex = 0>
Result<Variant> decode_as(const std::string& type, const json& in) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    return invalid("unknown message type '" + type + "'");
  } else {
    using Message = std::variant_alternative_t<kIndex, Variant>;
    if (type != type_of(Message{})) return decode_as<Variant, kIndex + 1>(type, in);
    if constexpr (std::is_same_v<Message, Join>)
      if (const auto other = other_version(in)) return invalid(*other);
    return Variant{fields::from_object<Message>(in, type)};
  }
}

template <typename Variant>
Result<Variant> decode_line(std::string_view line) try {
  const json in = json::parse(line);
  auto message = decode_as<Variant>(in.at("type").get<std::string>(), in);
  if (!message) return message;
  if (const auto checked = check(*message); !checked) return checked.error();
  return message;
} catch (const fields::Unfit& e) {
  return invalid(std::string{"malformed message: "} + e.what());
} catch (const json::exception& e) {
  return invalid(std::string{"malformed message: "} + e.what());
}

}  // namespace

std::string encode(const AgentMessage& message) { return encode_line(message); }
std::string encode(const CoordinatorMessage& message) { return encode_line(message); }

Result<AgentMessage> decode_agent_message(std::string_view line) {
  return decode_line<AgentMessage>(line);
}

Result<CoordinatorMessage> decode_coordinator_message(std::string_view line) {
  return decode_line<CoordinatorMessage>(line);
}

}  // namespace ddprun
