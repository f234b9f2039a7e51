// What RoundMachine tells of the job to those who look at it. Nothing here decides anything.
#include <algorithm>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using NodeState = NodeStatus::State;
using RankState = RankStatus::State;

NodeState node_state(Phase phase, bool round_runs) {
  switch (phase) {
    case Phase::kReady:
      return round_runs ? NodeState::kSpare : NodeState::kReady;
    case Phase::kRunning:
      return NodeState::kRunning;
    case Phase::kFinished:
      return NodeState::kFinished;
    case Phase::kStopping:
      return NodeState::kStopping;
    case Phase::kContending:
      return NodeState::kWaiting;
  }
  return NodeState::kReady;
}

RankState rank_state(NodeState node) {
  switch (node) {
    case NodeState::kFinished:
      return RankState::kFinished;
    case NodeState::kLost:
      return RankState::kLost;
    case NodeState::kRunning:
      return RankState::kRunning;
    default:
      return RankState::kStopping;
  }
}

NodeStatus status_of(const Roster::Node& node, bool round_runs, TimePoint now) {
  const auto silent =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - node.last_heard());
  return {.host = node.join.host,
          .state = node_state(node.phase(), round_runs),
          .group_rank = node.group_rank,
          .first_rank = node.first_rank,
          .workers = node.join.workers,
          .silent_ms = std::max<std::int64_t>(silent.count(), 0),
          .reason = ""};
}

std::string describe_end(const EndJob& end) {
  switch (end.outcome) {
    case EndJob::Outcome::kFinished:
      return "finished";
    case EndJob::Outcome::kPreempted:
      return "preempted: " + end.message;
    case EndJob::Outcome::kTimedOut:
      return end.message;
    case EndJob::Outcome::kFailed:
      break;
  }
  if (!end.failure) return end.message;
  return "rank " + std::to_string(end.failure->rank) + " " + describe(end.failure->status);
}

/// The nodes of the round by group rank, then those that have none yet.
bool comes_before(const NodeStatus& a, const NodeStatus& b) {
  const auto key = [](const NodeStatus& node) {
    return std::pair{node.group_rank < 0, node.group_rank};
  };
  return key(a) < key(b);
}

}  // namespace

JobStatus RoundMachine::status(TimePoint now, std::int64_t now_unix_ms) const {
  JobStatus status{.run_id = rules_.run_id,
                   .round = round_,
                   .attempt = attempt_,
                   .restarts_left = std::max(rules_.restarts_max - attempt_, 0),
                   .nodes_min = rules_.nodes_min,
                   .nodes_max = rules_.nodes_max,
                   .now_unix_ms = now_unix_ms};
  status.state = static_cast<JobStatus::State>(state_);
  status.why = state_ == State::kEnded ? describe_end(*verdict_) : chronicle_.reason();
  tell_nodes(status, now);
  chronicle_.tell(status, now);
  tell_ranks(status);
  summarize(status);
  return status;
}

void RoundMachine::tell_nodes(JobStatus& status, TimePoint now) const {
  nodes_.for_each([&](const Node& node) {
    status.nodes.push_back(status_of(node, state_ == State::kRunning, now));
  });
  std::ranges::stable_sort(status.nodes, comes_before);
}

/// A node has ranks when it is in the round that runs or stops. Those of a lost one are others' in
/// the next round.
void RoundMachine::tell_ranks(JobStatus& status) const {
  if (state_ == State::kGathering) return;
  for (const NodeStatus& node : status.nodes) {
    const bool gone = node.state == NodeState::kLost && state_ != State::kStopping;
    if (node.first_rank < 0 || node.state == NodeState::kSpare || gone) continue;
    for (int i = 0; i < node.workers; ++i)
      status.ranks.push_back(status_of_rank(node.first_rank + i, rank_state(node.state)));
  }
  std::ranges::stable_sort(status.ranks, {}, &RankStatus::rank);
}

RankStatus RoundMachine::status_of_rank(int rank, RankStatus::State state) const {
  RankStatus status{.rank = rank, .state = state, .waits_in = ""};
  const bool failed = verdict_ && verdict_->failure && verdict_->failure->rank == rank;
  if (failed) status.state = RankState::kFailed;
  return status;
}

/// Whoever looks at the job is to see which node is missing. After the end all nodes go.
void RoundMachine::chronicle_loss(const Node& node, const std::string& reason) {
  if (state_ == State::kEnded || node.phase() == Phase::kContending) return;
  NodeStatus status = status_of(node, state_ == State::kRunning, last_step_);
  status.reason = reason;
  chronicle_.lost(std::move(status), last_step_);
}

}  // namespace ddprun
