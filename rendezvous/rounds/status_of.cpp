#include "rendezvous/rounds/status_of.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using NodeState = NodeStatus::State;
using RankState = RankStatus::State;

NodeState state_of_waiting(const Roster::Node& node, bool round_runs) {
  if (node.seats.preparation() == Seats::Preparation::kUnderWay) return NodeState::kStarting;
  return round_runs ? NodeState::kSpare : NodeState::kReady;
}

NodeState node_state(const Roster::Node& node, bool round_runs) {
  switch (node.phase()) {
    case Phase::kReady:
      return state_of_waiting(node, round_runs);
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

/// The nodes of the round by group rank, then those that have none yet.
bool comes_before(const NodeStatus& a, const NodeStatus& b) {
  const auto key = [](const NodeStatus& node) {
    return std::pair{node.group_rank < 0, node.group_rank};
  };
  return key(a) < key(b);
}

}  // namespace

NodeStatus status_of(const Roster::Node& node, bool round_runs, TimePoint now) {
  const auto silent =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - node.last_heard());
  return {.host = node.join.host,
          .state = node_state(node, round_runs),
          .group_rank = node.seats.group_rank(),
          .first_rank = node.seats.first_rank(),
          .workers = node.seats.taken(),
          .silent_ms = std::max<std::int64_t>(silent.count(), 0),
          .reason = node.objection()};
}

std::string loss_text(const Roster::Node& node, const Roster& nodes, const std::string& reason) {
  bool shared = false;
  nodes.for_each([&](const Roster::Node& other) {
    shared =
        shared || (&other != &node && !other.join.witness && other.join.host == node.join.host);
  });
  const RankList ranks = ranks_from(node.seats.first_rank(), node.seats.taken());
  const std::string which = shared && node.is_in_round()
                                ? " (" + ranks_text(format_number_list(ranks)) + ")"
                                : std::string{};
  return "node " + node.join.host + which + " lost: " + reason;
}

std::string reason_of(const EndJob& end) {
  if (!end.failure) return end.message;
  return "rank " + std::to_string(end.failure->rank) + " " + describe(end.failure->status);
}

void tell_nodes(JobStatus& status, const Roster& nodes, const std::map<NodeId, NodeNews>& news,
                bool round_runs, const NodeId& extra_voter, TimePoint now) {
  nodes.for_each([&](const Roster::Node& node) {
    const bool votes = node.id() == extra_voter;
    if (node.join.witness) {
      if (votes) status.witness = node.join.host;
      return;
    }
    status.nodes.push_back(status_of(node, round_runs, now));
    if (const auto told = news.find(node.id()); told != news.end()) {
      status.nodes.back().load = told->second.load;
      status.nodes.back().checkpoints = told->second.checkpoints;
    }
    if (std::string& remark = status.nodes.back().reason; votes && remark.empty())
      remark = "it votes beside the nodes of the round";
  });
  std::ranges::stable_sort(status.nodes, comes_before);
}

void tell_ranks(JobStatus& status, bool stopping) {
  for (const NodeStatus& node : status.nodes) {
    const bool gone = node.state == NodeState::kLost && !stopping;
    const bool waits = node.state == NodeState::kSpare || node.state == NodeState::kStarting;
    if (node.first_rank < 0 || waits || gone) continue;
    for (int i = 0; i < node.workers; ++i)
      status.ranks.push_back(
          {.rank = node.first_rank + i, .state = rank_state(node.state), .waits_in = ""});
  }
  std::ranges::stable_sort(status.ranks, {}, &RankStatus::rank);
}

void tell_progress(JobStatus& status, const ProgressTable& table, TimePoint now) {
  using std::chrono::duration_cast;
  for (RankStatus& rank : status.ranks) {
    const ProgressTable::Rank* const known = table.find(rank.rank);
    if (known == nullptr) continue;
    const RankProgress& told = known->last;
    const auto still = now - known->since;
    rank.step = told.step;
    rank.steps = told.steps;
    rank.has_loss = told.has_loss;
    rank.loss = told.loss;
    rank.samples_per_second = told.samples_per_second;
    rank.waits_in = told.waits_in;
    // Before the next look it is unknown whether it stands still.
    if (still > std::chrono::milliseconds{told.look_ms})
      rank.still_ms = duration_cast<std::chrono::milliseconds>(still).count();
    for (const GroupProgress& group : told.groups)
      if (group.group == kGroupOfAllRanks) rank.collectives = group.completed;
    if (told.left_s < 0) continue;
    const auto left = told.left_s - duration_cast<std::chrono::seconds>(still).count();
    status.summary.left_s = std::max<std::int64_t>({status.summary.left_s, left, std::int64_t{0}});
  }
}

void tell_lateness(JobStatus& status, const StragglerWatch& watch, const Roster& nodes) {
  for (RankStatus& rank : status.ranks)
    if (const auto late = watch.late_part(rank.rank)) rank.late_percent = 100 * *late;
  if (watch.straggler()) status.summary.straggler = described(*watch.straggler(), nodes);
}

Straggler described(Straggler found, const Roster& nodes) {
  const auto* const node = nodes.with_rank(ranks_in(found.ranks).front());
  if (node != nullptr) found.node = node->join.host;
  found.sentence = sentence_of(found);
  return found;
}

void mark_troubles(JobStatus& status, const std::optional<HangReport>& hang,
                   const std::optional<EndJob>& end) {
  if (hang) status.hang = *hang;
  const auto mark = [&](const std::string& ranks, RankState state) {
    const RankList marked = ranks_in(ranks);
    for (RankStatus& rank : status.ranks)
      if (has_rank(marked, rank.rank)) rank.state = state;
  };
  if (status.hang) {
    mark(status.hang->waiting_ranks, RankState::kWaiting);
    mark(status.hang->missing_ranks, RankState::kMissing);
  }
  if (end && end->failure) mark(std::to_string(end->failure->rank), RankState::kFailed);
}

namespace {

std::string why_no_workers(const Rounds& rounds, int round, TimePoint now) {
  const Waiting waiting = rounds.waiting(now);
  switch (rounds.state()) {
    case Rounds::State::kIdle:
      return "another node coordinates the job";
    case Rounds::State::kGathering:
      if (waiting.pause_ms > 0)
        return "the job restarts in " + std::to_string((waiting.pause_ms + 999) / 1000) +
               " s (--restart-delay)";
      return "the job waits for its nodes: " + std::to_string(waiting.nodes) + " of " +
             std::to_string(waiting.nodes_min) + " are there";
    case Rounds::State::kStopping:
      return "the workers of round " + std::to_string(round) + " are being stopped";
    case Rounds::State::kRunning:
      break;
  }
  return "";
}

}  // namespace

JobDump dump_without_workers(const Rounds& rounds, const JobCounters& counters, TimePoint now) {
  return {.state = std::string{name_of(state_of(rounds.state()))},
          .why = why_no_workers(rounds, counters.round, now),
          .round = counters.round,
          .attempt = counters.attempt};
}

JobStatus::State state_of(Rounds::State state) {
  switch (state) {
    case Rounds::State::kIdle:
    case Rounds::State::kGathering:
      break;
    case Rounds::State::kRunning:
      return JobStatus::State::kRunning;
    case Rounds::State::kStopping:
      return JobStatus::State::kStopping;
  }
  return JobStatus::State::kGathering;
}

}  // namespace ddprun
