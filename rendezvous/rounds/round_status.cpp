// What CoordinatorMachine tells of the job to those who look at it. Nothing here decides anything.
#include <algorithm>
#include <set>
#include <utility>

#include "base/number_list.hpp"
#include "rendezvous/rounds/round_machine.hpp"
#include "rendezvous/wire/message_limits.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using NodeState = NodeStatus::State;
using RankState = RankStatus::State;

constexpr char kDefaultGroup[] = "0";  // torch's name for the group of all ranks

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
    case Phase::kVoting:
    case Phase::kWitnessing:
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

std::string reason_of(const EndJob& end) {
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

JobStatus CoordinatorMachine::status(TimePoint now, std::int64_t now_unix_ms) const {
  JobStatus status{.run_id = rules_.run_id,
                   .round = round_,
                   .attempt = attempt_,
                   .restarts_left = std::max(rules_.restarts_max - attempt_, 0),
                   .nodes_min = nodes_needed(),
                   .nodes_max = rules_.nodes_max,
                   .now_unix_ms = now_unix_ms};
  if (is_over()) {
    status.state = JobStatus::State::kEnded;
    status.outcome = verdict_->outcome;
  } else if (coordinates())  // else it waits
    status.state = static_cast<JobStatus::State>(state_);
  status.why = is_over() ? reason_of(*verdict_) : chronicle_.reason();
  tell_nodes(status, now);
  chronicle_.tell(status, now);
  tell_ranks(status);
  tell_progress(status, now);
  tell_troubles(status);
  summarize(status);
  return status;
}

void CoordinatorMachine::tell_nodes(JobStatus& status, TimePoint now) const {
  nodes_.for_each([&](const Node& node) {
    if (!node.join.witness)
      status.nodes.push_back(status_of(node, state_ == State::kRunning, now));
    else if (node.id() == voting_witness_ && !quorum_.is_joint())
      status.witness = node.join.host;
  });
  std::ranges::stable_sort(status.nodes, comes_before);
}

/// A node has ranks when it is in the round that runs or stops. Those of a lost one are others' in
/// the next round.
void CoordinatorMachine::tell_ranks(JobStatus& status) const {
  if (state_ == State::kGathering) return;
  for (const NodeStatus& node : status.nodes) {
    const bool gone = node.state == NodeState::kLost && state_ != State::kStopping;
    if (node.first_rank < 0 || node.state == NodeState::kSpare || gone) continue;
    for (int i = 0; i < node.workers; ++i)
      status.ranks.push_back(
          {.rank = node.first_rank + i, .state = rank_state(node.state), .waits_in = ""});
  }
  std::ranges::stable_sort(status.ranks, {}, &RankStatus::rank);
}

/// Adds what the ranks have told of themselves.
void CoordinatorMachine::tell_progress(JobStatus& status, TimePoint now) const {
  using std::chrono::duration_cast;
  const ProgressBook& book = watch_.progress();
  for (RankStatus& rank : status.ranks) {
    const ProgressBook::Rank* const known = book.find(rank.rank);
    if (known == nullptr) continue;
    const RankProgress& told = known->last;
    const auto still = now - known->since;
    rank.step = told.step;
    rank.steps = told.steps;
    rank.has_loss = told.has_loss;
    rank.loss = told.loss;
    rank.samples_per_second = told.samples_per_second;
    rank.waits_in = told.waits_in;
    rank.still_ms = duration_cast<std::chrono::milliseconds>(still).count();
    for (const GroupProgress& group : told.groups)
      if (group.group == kDefaultGroup) rank.collectives = group.completed;
    if (told.left_s < 0) continue;
    const auto left = told.left_s - duration_cast<std::chrono::seconds>(still).count();
    status.left_s = std::max<std::int64_t>({status.left_s, left, std::int64_t{0}});
  }
}

/// Marks the ranks that hang, and the one that has failed.
void CoordinatorMachine::tell_troubles(JobStatus& status) const {
  if (watch_.hang()) status.hang = *watch_.hang();
  const auto mark = [&](const std::string& ranks, RankState state) {
    const auto list = parse_number_list(ranks, kCountMax);
    if (!list) return;
    const std::set<int> marked{list->begin(), list->end()};
    for (RankStatus& rank : status.ranks)
      if (marked.contains(rank.rank)) rank.state = state;
  };
  if (status.hang) {
    mark(status.hang->waiting_ranks, RankState::kWaiting);
    mark(status.hang->missing_ranks, RankState::kMissing);
  }
  if (is_over()) status.verdict = found_;
  if (verdict_ && verdict_->failure)
    mark(std::to_string(verdict_->failure->rank), RankState::kFailed);
}

/// Adds a point to the curves when it is time for one and somebody tells his step.
void CoordinatorMachine::chronicle_progress(TimePoint now) {
  if (!chronicle_.wants_point(now)) return;
  JobStatus status;
  nodes_.for_each([&](const Node& node) { status.nodes.push_back(status_of(node, true, now)); });
  tell_ranks(status);
  tell_progress(status, now);
  summarize(status);
  if (status.step < 0) return;
  chronicle_.add_point({.step = status.step,
                        .has_loss = status.has_loss,
                        .loss = status.loss,
                        .samples_per_second = status.samples_per_second},
                       now);
}

/// Whoever looks at the job is to see which node is missing. After the end all nodes go.
void CoordinatorMachine::chronicle_loss(const Node& node, const std::string& reason) {
  if (is_over() || node.phase() == Phase::kContending || node.join.witness) return;
  NodeStatus status = status_of(node, state_ == State::kRunning, last_step_);
  status.reason = reason;
  chronicle_.lost(std::move(status), last_step_);
}

}  // namespace ddprun
