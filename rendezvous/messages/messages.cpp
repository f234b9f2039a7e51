#include "rendezvous/messages/messages.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <type_traits>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "rendezvous/messages/job_terms_fields.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/report_fields.hpp"

namespace ddprun {

// The tables of all structs that travel: which fields they have in JSON, and how long their texts
// may be.
namespace fields {

constexpr TextLimit kReason{4096};  // a sentence, with texts of peers in it
constexpr TextLimit kName{64};
/// A path that is longer is not told: see kCheckpointPathBytesMax.
constexpr TextLimit kRemovedPath{kCheckpointPathBytesMax};

/// A name that is cut would be another name. What is kept of one that is too long is still too
/// long, so that the other side refuses it.
constexpr TextLimit name_of(std::size_t bytes_max) { return {bytes_max + 8}; }

// clang-format off
template <> inline constexpr auto kFields<JobCounters> = table(
    field<&JobCounters::round>("round"), field<&JobCounters::attempt>("attempt"));

template <> inline constexpr auto kFields<ConfigurationVersion> = table(
    field<&ConfigurationVersion::epoch>("epoch"), field<&ConfigurationVersion::round>("round"),
    field<&ConfigurationVersion::revision>("revision"));
template <> inline constexpr auto kFields<Configuration> = table(
    field<&Configuration::version>("version"), field<&Configuration::voters>("voters"),
    field<&Configuration::member>("member"), field<&Configuration::rank>("rank"),
    text<&Configuration::awaited>("awaited", TextLimit{kRankListBytesMax}));
template <> inline constexpr auto kFields<HostedAssignment> = table(
    field<&HostedAssignment::round>("round"), field<&HostedAssignment::nodes>("nodes"),
    field<&HostedAssignment::group_rank>("group_rank"), field<&HostedAssignment::first_rank>("first_rank"),
    field<&HostedAssignment::world_size>("world_size"), field<&HostedAssignment::store_port>("store_port"),
    text<&HostedAssignment::vacant>("vacant", TextLimit{kRankListBytesMax}));
template <> inline constexpr auto kFields<VoterState> = table(
    field<&VoterState::epoch>("epoch"), field<&VoterState::promised>("promised"),
    field<&VoterState::proposed>("proposed"), field<&VoterState::committed>("committed"),
    field<&VoterState::running>("running"), field<&VoterState::old_lease_ms>("old_lease_ms"),
    text<&VoterState::dead_ranks>("dead_ranks", TextLimit{kRankListBytesMax}),
    field<&VoterState::spares>("spares"), field<&VoterState::leader_dead>("leader_dead"), field<&VoterState::leader_is_member>("leader_is_member"),
    text<&VoterState::leader>("leader", name_of(kEndpointBytesMax)),
    field<&VoterState::standby_port>("standby_port"), field<&VoterState::colocated>("colocated"),
    field<&VoterState::assignment>("assignment"));
template <> inline constexpr auto kFields<Join> = message("join",
    field<&Join::protocol>("protocol"), text<&Join::run_id>("run_id", name_of(kRunIdBytesMax)),
    text<&Join::node>("node", name_of(kNodeIdBytesMax)), field<&Join::incarnation>("incarnation"),
    field<&Join::counters>("counters"), text<&Join::host>("host", name_of(kHostBytesMax)),
    field<&Join::workers>("workers"), text<&Join::role>("role", name_of(kRoleBytesMax)),
    field<&Join::node_rank>("node_rank"), field<&Join::terms>("terms"),
   
    field<&Join::voter>("voter"), field<&Join::place>("place"),
    field<&Join::witness>("witness"), field<&Join::parked>("parked"),
    field<&Join::check_ms>("check_ms"), text<&Join::unfit>("unfit", kReason));
template <> inline constexpr auto kFields<Beat> = message("beat",
    field<&Beat::load>("load"), field<&Beat::checkpoints>("checkpoints"),
    field<&Beat::clock_us>("clock_us"), field<&Beat::echo_us>("echo_us"),
    field<&Beat::round>("round"), field<&Beat::committed>("committed"),
    field<&Beat::epoch>("epoch"), field<&Beat::revision>("revision"),
    field<&Beat::committed_nodes>("committed_nodes"),
    field<&Beat::lease_ms>("lease_ms"), field<&Beat::spares>("spares"),
    field<&Beat::keep>("keep"));
template <> inline constexpr auto kFields<Identify> = message("identify",
    text<&Identify::run_id>("run_id", name_of(kRunIdBytesMax)),
    field<&Identify::epoch>("epoch"),
    text<&Identify::coordinator>("coordinator", name_of(kEndpointBytesMax)));
template <> inline constexpr auto kFields<InviteWitness> = message("invite_witness",
    text<&InviteWitness::run_id>("run_id", name_of(kRunIdBytesMax)), field<&InviteWitness::epoch>("epoch"),
    field<&InviteWitness::round>("round"),
    text<&InviteWitness::coordinator>("coordinator", name_of(kEndpointBytesMax)),
    field<&InviteWitness::join_timeout_ms>("join_timeout_ms"));
template <> inline constexpr auto kFields<Vote> = message("vote",
    field<&Vote::epoch>("epoch"), field<&Vote::echo_us>("echo_us"));
template <> inline constexpr auto kFields<WorkerFailed> = message("worker_failed",
    field<&WorkerFailed::round>("round"), field<&WorkerFailed::failure>("failure"),
    field<&WorkerFailed::end>("end"), field<&WorkerFailed::age_ms>("age_ms"),
    field<&WorkerFailed::left>("left"));
template <> inline constexpr auto kFields<WorkersFinished> = message("workers_finished",
    field<&WorkersFinished::round>("round"));
template <> inline constexpr auto kFields<WorkersStopped> = message("workers_stopped",
    field<&WorkersStopped::round>("round"), field<&WorkersStopped::parked>("parked"));
template <> inline constexpr auto kFields<WorkersStarted> = message("workers_started",
    field<&WorkersStarted::round>("round"));
template <> inline constexpr auto kFields<Fitness> = message("fitness",
    text<&Fitness::unfit>("unfit", kReason));
template <> inline constexpr auto kFields<Preempt> = message("preempt",
    text<&Preempt::reason>("reason", kReason), field<&Preempt::checkpoint_ms>("checkpoint_ms"));
template <> inline constexpr auto kNames<CheckpointSaid::What> = std::to_array<Named>({
    {CheckpointSaid::What::kSaved, "saved"}, {CheckpointSaid::What::kKept, "kept"},
    {CheckpointSaid::What::kStaged, "staged"}, {CheckpointSaid::What::kCopied, "copied"},
    {CheckpointSaid::What::kWritten, "written"}});
template <> inline constexpr auto kNames<CheckpointOrder::What> = std::to_array<Named>({
    {CheckpointOrder::What::kKeep, "keep"}, {CheckpointOrder::What::kCounts, "counts"},
    {CheckpointOrder::What::kStage, "stage"}, {CheckpointOrder::What::kMove, "move"},
    {CheckpointOrder::What::kWritten, "written"}});
template <> inline constexpr auto kFields<CheckpointPart> = table(
    field<&CheckpointPart::number>("number"), field<&CheckpointPart::part>("part"),
    field<&CheckpointPart::parts>("parts"), field<&CheckpointPart::taken_unix_ms>("taken_unix_ms"),
    field<&CheckpointPart::bytes>("bytes"), field<&CheckpointPart::older_bytes>("older_bytes"));
template <> inline constexpr auto kFields<PartSource> = table(
    field<&PartSource::part>("part"), text<&PartSource::endpoint>("endpoint", name_of(kPartEndpointBytesMax)),
    text<&PartSource::ticket>("ticket", name_of(kPartTicketBytesMax)));
template <> inline constexpr auto kFields<HeldCheckpoints> = message("held_checkpoints",
    list<&HeldCheckpoints::parts>("parts", kPartsHeldMax),
    list<&HeldCheckpoints::copies>("copies", kPartsHeldMax),
    field<&HeldCheckpoints::written>("written"), field<&HeldCheckpoints::ended_well>("ended_well"),
    field<&HeldCheckpoints::room>("room"), field<&HeldCheckpoints::port>("port"),
    text<&HeldCheckpoints::ticket>("ticket", name_of(kPartTicketBytesMax)));
template <> inline constexpr auto kFields<CheckpointSaid> = message("checkpoint_said",
    field<&CheckpointSaid::what>("what"), field<&CheckpointSaid::number>("number"),
    field<&CheckpointSaid::part>("part"),
    field<&CheckpointSaid::done>("done"), field<&CheckpointSaid::changed>("changed"),
    field<&CheckpointSaid::bytes>("bytes"), field<&CheckpointSaid::older_bytes>("older_bytes"),
    field<&CheckpointSaid::taken_unix_ms>("taken_unix_ms"),
    texts<&CheckpointSaid::removed>("removed", kRemovedPath, kRemovedPathsMax));
template <> inline constexpr auto kFields<CheckpointOrder> = message("checkpoint_order",
    field<&CheckpointOrder::what>("what"), field<&CheckpointOrder::number>("number"),
    field<&CheckpointOrder::part>("part"),
    field<&CheckpointOrder::parts>("parts"), field<&CheckpointOrder::at_end>("at_end"),
    texts<&CheckpointOrder::removed>("removed", kRemovedPath, kRemovedPathsMax),
    field<&CheckpointOrder::taken_unix_ms>("taken_unix_ms"),
    list<&CheckpointOrder::copies>("copies", kPartsHeldMax));
template <> inline constexpr auto kFields<Leave> = message("leave",
    text<&Leave::reason>("reason", kReason));
template <> inline constexpr auto kFields<GroupProgress> = table(
    text<&GroupProgress::group>("group", kName), field<&GroupProgress::enqueued>("enqueued"),
    field<&GroupProgress::completed>("completed"));
template <> inline constexpr auto kFields<RankProgress> = table(
    field<&RankProgress::rank>("rank"), field<&RankProgress::ended>("ended"),
    field<&RankProgress::stayed>("stayed"), field<&RankProgress::watched>("watched"),
    list<&RankProgress::groups>("groups", kProgressGroupsMax),
    text<&RankProgress::waits_in>("waits_in", kName), field<&RankProgress::idle>("idle"),
    field<&RankProgress::busy>("busy"), field<&RankProgress::paused_ms>("paused_ms"),
    field<&RankProgress::still_ms>("still_ms"), field<&RankProgress::look_ms>("look_ms"),
    field<&RankProgress::step>("step"),
    may_miss(field<&RankProgress::first_step>("first_step")),
    may_miss(field<&RankProgress::first_ms>("first_ms")),
    field<&RankProgress::steps>("steps"), field<&RankProgress::has_loss>("has_loss"),
    field<&RankProgress::loss>("loss"),
    field<&RankProgress::samples_per_second>("samples_per_second"),
    field<&RankProgress::left_s>("left_s"));
template <> inline constexpr auto kFields<Progress> = message("progress",
    field<&Progress::round>("round"), list<&Progress::ranks>("ranks", kProgressRanksMax));
template <> inline constexpr auto kFields<GroupArrivals> = table(
    text<&GroupArrivals::group>("group", kName), field<&GroupArrivals::first>("first"),
    field<&GroupArrivals::at_us>("at_us"),
    list<&GroupArrivals::pauses_us>("pauses_us", kGroupArrivalsMax));
template <> inline constexpr auto kFields<StrainRates> = table(
    field<&StrainRates::cpus>("cpus"),
    field<&StrainRates::ran>("ran"),
    field<&StrainRates::queued>("queued"),
    field<&StrainRates::throttled>("throttled"),
    field<&StrainRates::quota_cpus>("quota_cpus"),
    field<&StrainRates::stolen>("stolen"),
    field<&StrainRates::cpu_pressure>("cpu_pressure"),
    field<&StrainRates::memory_pressure>("memory_pressure"),
    field<&StrainRates::io_pressure>("io_pressure"),
    field<&StrainRates::major_faults>("major_faults"),
    field<&StrainRates::swapped_bytes>("swapped_bytes"),
    field<&StrainRates::mhz>("mhz"),
    field<&StrainRates::mhz_max>("mhz_max"),
    field<&StrainRates::connections>("connections"),
    field<&StrainRates::retransmits>("retransmits"),
    may_miss(field<&StrainRates::sending>("sending")),
    field<&StrainRates::round_trip_ms>("round_trip_ms"));
template <> inline constexpr auto kFields<Arrivals> = message("arrivals",
    field<&Arrivals::round>("round"), field<&Arrivals::rank>("rank"),
    field<&Arrivals::look>("look"),
    list<&Arrivals::groups>("groups", kProgressGroupsMax), field<&Arrivals::strain>("strain"));
template <> inline constexpr auto kFields<Inspected> = message("inspected",
    field<&Inspected::inspection>("inspection"), field<&Inspected::workers>("workers"),
    field<&Inspected::last>("last"));
template <> inline constexpr auto kFields<Debugging> = message("debugging",
    field<&Debugging::round>("round"), list<&Debugging::ranks>("ranks", kProgressRanksMax));

template <> inline constexpr auto kFields<AskStatus> = message("ask_status",
    field<&AskStatus::question>("question"));
template <> inline constexpr auto kFields<AskDump> = message("ask_dump",
    field<&AskDump::question>("question"));
template <> inline constexpr auto kFields<WorkersEnded> = message("workers_ended",
    field<&WorkersEnded::round>("round"), field<&WorkersEnded::step>("step"),
    list<&WorkersEnded::ends>("ends", kWorkerEndsMax));

template <> inline constexpr auto kFields<Joined> = message("joined",
    field<&Joined::heartbeat_timeout_ms>("heartbeat_timeout_ms"),
   
    field<&Joined::clock_us>("clock_us"), field<&Joined::epoch>("epoch"),
    field<&Joined::resumed>("resumed"),
    field<&Joined::keeps_workers>("keeps_workers"));
template <> inline constexpr auto kFields<Refused> = message("refused",
    text<&Refused::reason>("reason", kReason), field<&Refused::other_job>("other_job"));
template <> inline constexpr auto kFields<Waiting> = message("waiting",
    field<&Waiting::nodes>("nodes"), field<&Waiting::nodes_min>("nodes_min"),
    field<&Waiting::nodes_max>("nodes_max"), field<&Waiting::left_ms>("left_ms"),
    field<&Waiting::pause_ms>("pause_ms"),
    field<&Waiting::clock_us>("clock_us"), field<&Waiting::echo_us>("echo_us"),
    field<&Waiting::lease_ms>("lease_ms"), field<&Waiting::objected>("objected"));
template <> inline constexpr auto kFields<Successor> = table(
    text<&Successor::endpoint>("endpoint", name_of(kEndpointBytesMax)),
    field<&Successor::rank>("rank"));
template <> inline constexpr auto kFields<Spare> = message("spare",
    field<&Spare::round>("round"), field<&Spare::attempt>("attempt"),
    field<&Spare::nodes>("nodes"), field<&Spare::epoch>("epoch"),
    field<&Spare::committed>("committed"),
    list<&Spare::successors>("successors", kSuccessorsMax),
    text<&Spare::objection>("objection", kReason));
template <> inline constexpr auto kFields<Identity> = message("identity",
    text<&Identity::jobs>("jobs", kReason), field<&Identity::pid>("pid"),
    text<&Identity::host>("host", TextLimit{kHostBytesMax}),
    field<&Identity::epoch>("epoch"),
    text<&Identity::coordinator>("coordinator", name_of(kEndpointBytesMax)),
    field<&Identity::witness>("witness"));
template <> inline constexpr auto kFields<RoundCheckpoint> = table(
    may_miss(field<&RoundCheckpoint::number>("checkpoint")),
    may_miss(list<&RoundCheckpoint::sources>("sources", kPartSourcesMax)),
    may_miss(field<&RoundCheckpoint::older>("older")));
template <> inline constexpr auto kFields<StartRound> = message("start_round",
    field<&StartRound::round>("round"), field<&StartRound::attempt>("attempt"),
    field<&StartRound::group_rank>("group_rank"),
    field<&StartRound::group_world_size>("group_world_size"),
    field<&StartRound::first_rank>("first_rank"), field<&StartRound::world_size>("world_size"),
    field<&StartRound::first_role_rank>("first_role_rank"),
    field<&StartRound::role_world_size>("role_world_size"),
    text<&StartRound::master_addr>("master_addr", kNote),
    field<&StartRound::master_port>("master_port"),
    field<&StartRound::epoch>("epoch"), field<&StartRound::lease_ms>("lease_ms"),
    field<&StartRound::committed>("committed"),
    list<&StartRound::successors>("successors", kSuccessorsMax),
    field<&StartRound::leader_rank>("leader_rank"),
    text<&StartRound::awaited>("awaited", TextLimit{kRankListBytesMax}),
    text<&StartRound::vacant>("vacant", TextLimit{kRankListBytesMax}),
    text<&StartRound::node_note>("node_note", kReason),
    inlined<&StartRound::checkpoint>());
template <> inline constexpr auto kFields<Prepare> = message("prepare",
    field<&Prepare::waits>("waits"), field<&Prepare::place>("place"));
template <> inline constexpr auto kFields<Reconfigure> = message("reconfigure",
    field<&Reconfigure::round>("round"), field<&Reconfigure::witnessed>("witnessed"),
    field<&Reconfigure::leader_is_member>("leader_is_member"),
    may_miss(field<&Reconfigure::spare_votes>("spare_votes")));
template <> inline constexpr auto kFields<StopRound> = message("stop_round",
    field<&StopRound::round>("round"), field<&StopRound::attempt>("attempt"),
    text<&StopRound::reason>("reason", kReason), field<&StopRound::checkpoint_ms>("checkpoint_ms"),
    field<&StopRound::at_once>("at_once"), field<&StopRound::keep>("keep"),
    text<&StopRound::evict>("evict", kRanks), field<&StopRound::gently>("gently"), field<&StopRound::discard>("discard"),
    field<&StopRound::last>("last"));
template <> inline constexpr auto kFields<Candidate> = message("candidate",field<&Candidate::votes>("votes"));
template <> inline constexpr auto kFields<RequestVote> = message("request_vote",
    field<&RequestVote::epoch>("epoch"), field<&RequestVote::clock_us>("clock_us"));
template <> inline constexpr auto kFields<Redirect> = message("redirect",
    text<&Redirect::coordinator>("coordinator", name_of(kEndpointBytesMax)),
    field<&Redirect::epoch>("epoch"));
template <> inline constexpr auto kFields<EndJob> = message("end_job",
    field<&EndJob::outcome>("outcome"), field<&EndJob::restarts>("restarts"),
    text<&EndJob::message>("message", kReason), field<&EndJob::failure>("failure"),
    field<&EndJob::held>("held"));
template <> inline constexpr auto kFields<EndAcknowledged> = message("end_acknowledged");
template <> inline constexpr auto kFields<FinalStatus> = message("final_status",field<&FinalStatus::end>("end"));
template <> inline constexpr auto kFields<Dismiss> = message("dismiss");
template <> inline constexpr auto kFields<Inspect> = message("inspect",
    field<&Inspect::round>("round"), field<&Inspect::inspection>("inspection"),
    field<&Inspect::stopping>("stopping"),
    text<&Inspect::first>("first", kRanks), field<&Inspect::patience_ms>("patience_ms"),
    may_miss(field<&Inspect::sample>("sample")));
template <> inline constexpr auto kFields<HangFound> = message("hang_found",
    field<&HangFound::round>("round"), field<&HangFound::report>("report"));
template <> inline constexpr auto kFields<Restarted> = message("restarted",
    field<&Restarted::times>("times"));
template <> inline constexpr auto kFields<JobTimes> = message("job_times",
    list<&JobTimes::restarts>("restarts", kRestartsToldMax),
    field<&JobTimes::goodput>("goodput"));
template <> inline constexpr auto kFields<HangOver> = message("hang_over",
    field<&HangOver::round>("round"), field<&HangOver::lasted_ms>("lasted_ms"));
template <> inline constexpr auto kFields<RanksDebugged> = message("ranks_debugged",
    field<&RanksDebugged::round>("round"),
    list<&RanksDebugged::ranks>("ranks", kProgressRanksMax));
template <> inline constexpr auto kFields<StragglerFound> = message("straggler_found",
    field<&StragglerFound::round>("round"), field<&StragglerFound::straggler>("straggler"));
template <> inline constexpr auto kFields<StragglerOver> = message("straggler_over",
    field<&StragglerOver::round>("round"), text<&StragglerOver::ranks>("ranks", kRanks));
template <> inline constexpr auto kFields<StatusPart> = message("status_part",
    field<&StatusPart::question>("question"),
    text<&StatusPart::text>("text", TextLimit{kStatusPartBytesMax}),
    field<&StatusPart::last>("last"));
template <> inline constexpr auto kFields<DumpPart> = message("dump_part",
    field<&DumpPart::question>("question"),
    text<&DumpPart::text>("text", TextLimit{kStatusPartBytesMax}),
    field<&DumpPart::last>("last"));
template <> inline constexpr auto kFields<VerdictFound> = message("verdict",
    field<&VerdictFound::verdict>("verdict"));
// clang-format on

}  // namespace fields

namespace {

constexpr std::size_t kTypeBytesMax = 64;  // for "type", its value, a comma and the newline

/// One of the messages of a variant.
template <typename Variant>
struct Alternative {
  std::string_view type;
  std::span<const fields::Field> fields;
  const void* (*in)(const Variant&);  // the message itself
  void* (*emplace)(Variant&);         // puts a new one there
};

template <typename... Messages>
constexpr auto alternatives_of(std::type_identity<std::variant<Messages...>>) {
  using Variant = std::variant<Messages...>;
  return std::array{Alternative<Variant>{
      fields::kFields<Messages>.type, fields::kFields<Messages>.fields,
      [](const Variant& message) -> const void* { return std::get_if<Messages>(&message); },
      [](Variant& message) -> void* { return &message.template emplace<Messages>(); }}...};
}

/// The messages of a variant, in its order.
template <typename Variant>
constexpr auto kAlternatives = alternatives_of(std::type_identity<Variant>{});

template <typename Variant>
constexpr bool kFitsLine = std::ranges::all_of(kAlternatives<Variant>, [](const auto& each) {
  return !each.type.empty() && fields::longest(each.fields) + kTypeBytesMax <= kLineBytesMax;
});

template <typename Variant>
std::string encode_line(const Variant& message) {
  static_assert(kFitsLine<Variant>, "a message may become longer than the other side accepts");
  const Alternative<Variant>& alternative = kAlternatives<Variant>[message.index()];
  std::string line =
      fields::to_line({alternative.type, alternative.fields, alternative.in(message)});
  assert(line.size() <= kLineBytesMax);
  return line;
}

/// A Join of another version may have other fields, so this is looked at before them. Returns the
/// sentence for the node's user; nullopt when the versions agree.
std::optional<std::string> other_version(const nlohmann::json& join) {
  const auto* version = member(join, "protocol");
  if (version == nullptr || integer_in(version) == kProtocolVersion) return std::nullopt;
  const std::string* host = text_in(member(join, "host"));
  return "this job speaks protocol version " + std::to_string(kProtocolVersion) + ", the agent" +
         (host != nullptr ? " on " + *host : "") + " version " +
         json_text(*version, JsonStyle::kAscii) + ": use the same ddprun on all nodes";
}

/// Decodes `in` as the alternative that its type names. Throws fields::Unfit.
template <typename Variant>
Result<Variant> decode_object(const nlohmann::json& in) {
  const auto type = fields::text_from(fields::member_in(in, "type", "message"), "type");
  const auto* found = std::ranges::find(kAlternatives<Variant>, type, &Alternative<Variant>::type);
  if (found == kAlternatives<Variant>.end()) return invalid("unknown message type '" + type + "'");
  if (type == fields::kFields<Join>.type)
    if (const auto other = other_version(in)) return invalid(*other);
  Variant message;
  fields::read(found->fields, in, type, found->emplace(message));
  if (const auto checked = check(message); !checked) return checked.error();
  return message;
}

template <typename Variant>
Result<Variant> decode_line(std::string_view line) try {
  const auto in = parse_json(line);
  if (!in) return invalid("malformed message: " + in.error().message);
  return decode_object<Variant>(**in);
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed message: "} + unfit.what());
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
