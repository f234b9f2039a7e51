#include "rendezvous/wire/messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/match.hpp"

namespace ddprun {

using nlohmann::json;

// These define to_json and from_json of every struct; nlohmann/json finds them by
// argument-dependent lookup. A missing field is an error, because both ends speak the same protocol
// version.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExitStatus, code, signal, core_dumped)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerFailure, host, group_rank, rank, local_rank, pid, status,
                                   time_unix_ms, evidence, message, traceback, error_file,
                                   last_heartbeat, last_lines)
NLOHMANN_JSON_SERIALIZE_ENUM(StoreAt, {{StoreAt::kLeader, "leader"}, {StoreAt::kLocal, "local"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobTerms, nodes_min, nodes_max, restarts_max,
                                   last_call_timeout_ms, join_timeout_ms, heartbeat_timeout_ms,
                                   store)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Join, protocol, run_id, node, host, workers, role, node_rank,
                                   terms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WhoIsThere, run_id)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerFailed, round, failure)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkersFinished, round)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkersStopped, round)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Preempt, reason, checkpoint_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Leave, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Joined, heartbeat_timeout_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Waiting, nodes, nodes_min, nodes_max, left_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Spare, round, nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Introduction, jobs, pid, host)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Refused, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartRound, round, attempt, group_rank, group_world_size,
                                   first_rank, world_size, first_role_rank, role_world_size,
                                   master_addr, master_port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StopRound, round, reason, checkpoint_ms)
NLOHMANN_JSON_SERIALIZE_ENUM(EndJob::Outcome, {{EndJob::Outcome::kFinished, "finished"},
                                               {EndJob::Outcome::kFailed, "failed"},
                                               {EndJob::Outcome::kTimedOut, "timed_out"},
                                               {EndJob::Outcome::kPreempted, "preempted"}})

static void to_json(json& out, const Beat&) { out = json::object(); }
static void from_json(const json&, Beat&) {}

static void to_json(json& out, const EndJob& end) {
  out = {{"outcome", end.outcome}, {"restarts", end.restarts}, {"message", end.message}};
  if (end.failure) out["failure"] = *end.failure;
}
static void from_json(const json& in, EndJob& end) {
  in.at("outcome").get_to(end.outcome);
  in.at("restarts").get_to(end.restarts);
  in.at("message").get_to(end.message);
  if (in.contains("failure")) end.failure = in["failure"].get<WorkerFailure>();
}

namespace {

// clang-format off
constexpr const char* type_of(const Join&) { return "join"; }
constexpr const char* type_of(const Beat&) { return "beat"; }
constexpr const char* type_of(const WhoIsThere&) { return "who_is_there"; }
constexpr const char* type_of(const WorkerFailed&) { return "worker_failed"; }
constexpr const char* type_of(const WorkersFinished&) { return "workers_finished"; }
constexpr const char* type_of(const WorkersStopped&) { return "workers_stopped"; }
constexpr const char* type_of(const Preempt&) { return "preempt"; }
constexpr const char* type_of(const Leave&) { return "leave"; }
constexpr const char* type_of(const Joined&) { return "joined"; }
constexpr const char* type_of(const Refused&) { return "refused"; }
constexpr const char* type_of(const Waiting&) { return "waiting"; }
constexpr const char* type_of(const Spare&) { return "spare"; }
constexpr const char* type_of(const Introduction&) { return "coordinator"; }
constexpr const char* type_of(const StartRound&) { return "start_round"; }
constexpr const char* type_of(const StopRound&) { return "stop_round"; }
constexpr const char* type_of(const EndJob&) { return "end_job"; }
// clang-format on

template <typename Variant>
std::string encode_line(const Variant& message) {
  json out = std::visit([](const auto& m) { return json(m); }, message);
  out["type"] = std::visit([](const auto& m) { return type_of(m); }, message);
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

/// Decodes `in` as the alternative of `Variant` whose type is `type`.
template <typename Variant, std::size_t kIndex = 0>
Result<Variant> decode_as(const std::string& type, const json& in) {
  if constexpr (kIndex == std::variant_size_v<Variant>) {
    return Error{Error::Kind::kInvalid, "unknown message type '" + type + "'"};
  } else {
    using Message = std::variant_alternative_t<kIndex, Variant>;
    if (type == type_of(Message{})) return Variant{in.get<Message>()};
    return decode_as<Variant, kIndex + 1>(type, in);
  }
}

template <typename Variant>
Result<Variant> decode_line(std::string_view line) try {
  const json in = json::parse(line);
  return decode_as<Variant>(in.at("type").get<std::string>(), in);
} catch (const json::exception& e) {
  return Error{Error::Kind::kInvalid, std::string{"malformed message: "} + e.what()};
}

Result<void> check(const JobTerms& terms) {
  const bool nodes = terms.nodes_min >= 1 && terms.nodes_max >= terms.nodes_min;
  const bool times = terms.last_call_timeout_ms >= 0 && terms.join_timeout_ms >= 0 &&
                     terms.heartbeat_timeout_ms >= 1;
  const auto longest =
      std::max({terms.last_call_timeout_ms, terms.join_timeout_ms, terms.heartbeat_timeout_ms});
  if (!nodes || !times || longest > kTimeoutMsMax || terms.restarts_max < 0)
    return Error{Error::Kind::kInvalid,
                 "the terms of the job make no sense: " + json(terms).dump()};
  return {};
}

Result<void> check(const Preempt& preempt) {
  if (preempt.checkpoint_ms >= 1 && preempt.checkpoint_ms <= kTimeoutMsMax) return {};
  return Error{Error::Kind::kInvalid, "a checkpoint may take from 1 ms to ten years, not " +
                                          std::to_string(preempt.checkpoint_ms) + " ms"};
}

Result<void> check(const Join& join) {
  if (join.node.empty() || join.node.size() > kNodeIdBytesMax)
    return Error{Error::Kind::kInvalid,
                 "a node id has 1 to " + std::to_string(kNodeIdBytesMax) + " bytes"};
  if (join.run_id.size() > kRunIdBytesMax)
    return Error{Error::Kind::kInvalid,
                 "a run id has at most " + std::to_string(kRunIdBytesMax) + " bytes"};
  if (join.workers < 1 || join.workers > kWorkersPerNodeMax)
    return Error{Error::Kind::kInvalid, "a node has 1 to " + std::to_string(kWorkersPerNodeMax) +
                                            " workers, not " + std::to_string(join.workers)};
  return check(join.terms);
}

}  // namespace

std::string encode(const AgentMessage& message) { return encode_line(message); }
std::string encode(const CoordinatorMessage& message) { return encode_line(message); }

Result<AgentMessage> decode_agent_message(std::string_view line) {
  auto message = decode_line<AgentMessage>(line);
  if (!message) return message;
  if (const auto* join = std::get_if<Join>(&*message)) {
    const auto checked = check(*join);
    if (!checked) return checked.error();
  }
  if (const auto* preempt = std::get_if<Preempt>(&*message)) {
    const auto checked = check(*preempt);
    if (!checked) return checked.error();
  }
  return message;
}

Result<CoordinatorMessage> decode_coordinator_message(std::string_view line) {
  return decode_line<CoordinatorMessage>(line);
}

}  // namespace ddprun
