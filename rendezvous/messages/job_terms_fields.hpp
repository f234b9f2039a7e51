// How the terms of a job travel from node to node: their names in JSON, their limits, and how the
// options are spelled that must be the same on all nodes. A new number stands here and in JobTerms.
// Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace fields {

// clang-format off
template <> inline constexpr auto kNames<StoreAt> = std::to_array<Named>({
    {StoreAt::kLeader, "leader"}, {StoreAt::kLocal, "local"}});
template <> inline constexpr auto kNames<OnHang> = std::to_array<Named>({
    {OnHang::kReport, "report"}, {OnHang::kRestart, "restart"}, {OnHang::kStop, "stop"}});

template <> inline constexpr auto kNames<CountedRestarts> = std::to_array<Named>({
    {CountedRestarts::kAll, "all"}, {CountedRestarts::kWithinWindow, "within_window"},
    {CountedRestarts::kSinceProgress, "since_progress"}});

template <> inline constexpr auto kFields<RestartPolicy> = table(
    field<&RestartPolicy::counted>("counted"), field<&RestartPolicy::window_ms>("window_ms"),
    field<&RestartPolicy::delay_min_ms>("delay_min_ms"),
    field<&RestartPolicy::delay_max_ms>("delay_max_ms"),
    field<&RestartPolicy::same_failure_limit>("same_failure_limit"));
template <> inline constexpr auto kFields<NodePolicy> = table(
    field<&NodePolicy::strikes>("strikes"), field<&NodePolicy::window_ms>("window_ms"));
template <> inline constexpr auto kFields<JobTerms> = table(
    field<&JobTerms::nodes_min>("nodes_min"), field<&JobTerms::nodes_max>("nodes_max"),
    field<&JobTerms::restarts_max>("restarts_max"), field<&JobTerms::restarts>("restarts"),
    field<&JobTerms::last_call_timeout>("last_call_timeout_ms"),
    field<&JobTerms::join_timeout>("join_timeout_ms"),
    field<&JobTerms::heartbeat_timeout>("heartbeat_timeout_ms"),
    field<&JobTerms::shutdown_timeout>("shutdown_timeout_ms"), field<&JobTerms::store>("store"),
    field<&JobTerms::hang_timeout>("hang_timeout_ms"),
    field<&JobTerms::on_hang>("on_hang"), field<&JobTerms::node_policy>("node_policy"),
    may_miss(field<&JobTerms::checkpoints>("checkpoints")));
// clang-format on

}  // namespace fields

/// A number of a message, and what it may be.
struct Ranged {
  std::string_view name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

/// The numbers of a job's terms. One out of its range is refused.
inline std::vector<Ranged> ranged(const JobTerms& terms) {
  constexpr std::int64_t kAny = std::numeric_limits<int>::max();
  const bool in_window = terms.restarts.counted == CountedRestarts::kWithinWindow;
  return {{"nodes_min", terms.nodes_min, 1, kNodesMax},
          {"nodes_max", terms.nodes_max, terms.nodes_min, kNodesMax},
          {"restarts_max", terms.restarts_max, 0, in_window ? kRestartsPerWindowMax : kAny},
          {"window_ms", terms.restarts.window_ms, in_window ? 1 : 0, kTimeoutMsMax},
          {"delay_min_ms", terms.restarts.delay_min_ms, 0, kTimeoutMsMax},
          {"delay_max_ms", terms.restarts.delay_max_ms, 0, kTimeoutMsMax},
          {"same_failure_limit", terms.restarts.same_failure_limit, 0, kAny},
          {"node strikes", terms.node_policy.strikes, 0, kNodeFailuresMax},
          {"the window of node strikes", terms.node_policy.window_ms, 1, kTimeoutMsMax},
          {"last_call_timeout_ms", terms.last_call_timeout.count(), 0, kTimeoutMsMax},
          {"join_timeout_ms", terms.join_timeout.count(), 0, kTimeoutMsMax},
          {"heartbeat_timeout_ms", terms.heartbeat_timeout.count(), kHeartbeatTimeoutMsMin,
           kTimeoutMsMax},
          {"shutdown_timeout_ms", terms.shutdown_timeout.count(), 0, kTimeoutMsMax},
          {"hang_timeout_ms", terms.hang_timeout.count(), kHangTimeoutOff.count(), kTimeoutMsMax}};
}

/// What must be the same on all nodes, as options of the command line.
inline std::vector<std::string> spelled(const JobTerms& terms) {
  const std::string min = std::to_string(terms.nodes_min);
  const std::string max = std::to_string(terms.nodes_max);
  return {"--nnodes=" + (min == max ? max : min + ":" + max),
          "--max-restarts=" + budget_text(terms.restarts_max, terms.restarts),
          "--restart-delay=" + delay_text(terms.restarts),
          "--same-failure-limit=" + std::to_string(terms.restarts.same_failure_limit),
          "--node-strikes=" + strikes_text(terms.node_policy),
          terms.store == StoreAt::kLocal ? "--store=local" : "--store=leader",
          terms.checkpoints ? "--checkpoints" : "no --checkpoints"};
}

}  // namespace ddprun
