#include "tests/simulation/invariants.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include "rendezvous/messages/round_messages.hpp"
#include "tests/simulation/cluster.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

template <typename Message>
const Message* sent_as(const CoordinatorAction& action) {
  const auto* send = std::get_if<SendTo>(&action);
  return send ? std::get_if<Message>(&send->message) : nullptr;
}

std::string round_name(int round) { return "round " + std::to_string(round); }

}  // namespace

void Invariants::joins(const AgentShell& agent) {
  require(agent.round_alive() == 0 || agent.coming_back(), [&] {
    return "joined with live workers: " + agent.id() + " has some of " +
           round_name(agent.round_alive());
  });
}

void Invariants::exits(const AgentShell& agent) {
  require(!agent.has_processes(), [&] {
    return "nothing left behind: " + agent.id() + " exits while workers of " +
           round_name(agent.round_alive()) + " are alive";
  });
}

void Invariants::starts_workers(const AgentShell& agent, const StartRound& round) {
  require(agent.round_alive() == 0, [&] {
    return "one round on a node: " + agent.id() + " starts " + round_name(round.round) +
           " while workers of " + round_name(agent.round_alive()) + " are alive";
  });
  require(round.round > agent.round() && round.attempt >= agent.attempt(), [&] {
    return "numbers only grow: " + agent.id() + " starts " + round_name(round.round) +
           ", attempt " + std::to_string(round.attempt) + ", after " + round_name(agent.round()) +
           ", attempt " + std::to_string(agent.attempt());
  });
  if (!counted_.contains(agent.link())) return;  // dropped, and does not know it yet
  require(!verdict_.has_value(), [&] {
    return "the end is the end: " + agent.id() + " starts " + round_name(round.round) +
           " after the verdict";
  });
}

void Invariants::rang(const char* timer, std::optional<TimePoint> next) {
  require(!next || *next > world_.time.now(),
          [&] { return "timers do not spin: that of the " + std::string{timer} + " does"; });
}

void Invariants::coordinator_begins_again() {
  counted_.clear();
  round_ = round_nodes_ = world_size_ = failures_ = 0;
  stopping_ = cause_awaited_ = end_announced_ = spare_announced_ = went_on_ = false;
}

void Invariants::coordinator_did(const CoordinatorShell&, const CoordinatorEvent& event,
                                 const std::vector<CoordinatorAction>& actions) {
  check_spare_ends_nothing(event, actions);
  heard(event);
  const bool fails = counts_a_failure(event, actions);
  std::vector<Sealed> sealed;
  bool stops = false;
  for (const CoordinatorAction& action : actions) {
    if (const auto* drop = std::get_if<DropPeer>(&action)) {
      check_lost(*drop);
      counted_.erase(drop->peer);
    }
    if (const auto* send = std::get_if<SendTo>(&action)) sent(*send, sealed);
    stops = stops || sent_as<StopRound>(action) != nullptr;
  }
  if (stops) stopping_ = true;
  if (stops && fails && !went_on_) ++failures_;  // its store is gone
  for (const CoordinatorAction& action : actions) {
    const auto* stop = sent_as<StopRound>(action);
    // A coordinator that knows nothing learns before it discards workers, as when it begins a
    // round.
    if (stop && stop->discard && stop->attempt <= failures_told())
      failures_ = std::max(failures_, stop->attempt);
    require(!stop || stop->attempt == failures_, [&] {
      return "failures are reported: there were " + std::to_string(failures_) +
             ", and the order to stop says that attempt " + std::to_string(stop->attempt) +
             " follows";
    });
  }
  if (!sealed.empty()) check_sealed(sealed);
  check_nobody_kept_waiting();
  const auto* from = std::get_if<FromPeer>(&event);
  if (from && std::holds_alternative<Join>(from->message)) check_answered(*from, actions);
}

void Invariants::heard(const CoordinatorEvent& event) {
  const auto* from = std::get_if<FromPeer>(&event);
  const auto node = from ? counted_.find(from->peer) : counted_.end();
  if (node == counted_.end()) return;
  node->second.heard = world_.time.now();
  if (std::holds_alternative<Prepared>(from->message) &&
      std::exchange(node->second.prepares, false))
    node->second.prepared = world_.time.now();
  if (const auto* debugging = std::get_if<Debugging>(&from->message);
      debugging && debugging->round == node->second.round)
    node->second.debugs = !debugging->ranks.empty();
  if (!std::holds_alternative<Preempt>(from->message)) return;
  (ends_the_job(from->peer) ? end_announced_ : spare_announced_) = true;
  ever_announced_ = true;
}

/// This is about the round that runs, or stops.
bool Invariants::is_member(PeerId peer) const {
  const auto node = counted_.find(peer);
  return round_ > 0 && node != counted_.end() && node->second.round == round_;
}

/// Whether the job must end when this node announces an end. Between two rounds, a member of the
/// last one need not be a member of the next: it may have failed, or be the fourth of three.
bool Invariants::ends_the_job(PeerId peer) const {
  return is_member(peer) && (!stopping_ || counted_hosts() <= world_.plan.rounds.terms.nodes_min);
}

/// An agent is let in again at once, whatever the coordinator believes of its earlier connections
/// and of the agents that were on its host before. Nobody's newest connection is dropped for an
/// older one.
void Invariants::check_answered(const FromPeer& joining,
                                const std::vector<CoordinatorAction>& actions) {
  const AgentShell& joined = agent(joining.peer);
  if (joined.gone() || joined.link() != joining.peer || cluster_.coordinator.job_ended()) return;
  const bool let_in = std::ranges::any_of(actions, [](const CoordinatorAction& action) {
    return sent_as<Joined>(action) != nullptr || sent_as<Redirect>(action) != nullptr;
  });
  require(let_in, [&] { return "who is back is let in: " + joined.id() + " is not"; });
}

void Invariants::check_spare_ends_nothing(const CoordinatorEvent& event,
                                          const std::vector<CoordinatorAction>& actions) {
  const auto* from = std::get_if<FromPeer>(&event);
  if (!from || !std::holds_alternative<Preempt>(from->message) || is_member(from->peer)) return;
  const bool runs = !stopping_ && std::ranges::any_of(counted_, [&](const auto& entry) {
    return is_member(entry.first);
  });
  const bool ends = std::ranges::any_of(actions, [](const CoordinatorAction& action) {
    return sent_as<StopRound>(action) || sent_as<EndJob>(action);
  });
  require(!runs || !ends, [&] {
    return "a spare ends nothing: " + agent(from->peer).id() + " has stopped " + round_name(round_);
  });
}

/// A failure of its own counts when it is reported. One that follows from another counts if it
/// stops the round later, and does not if the loss of a node does.
bool Invariants::counts_a_failure(const CoordinatorEvent& event,
                                  const std::vector<CoordinatorAction>& actions) {
  if (is_first_failure(event)) {
    const auto& failed = std::get<WorkerFailed>(std::get<FromPeer>(event).message);
    if (explains(failed.end) == Explains::kCause) return true;
    cause_awaited_ = true;
  }
  if (!cause_awaited_) return false;
  return std::ranges::any_of(actions, [&](const CoordinatorAction& action) {
    const auto* stop = sent_as<StopRound>(action);
    return stop && stop->attempt == failures_ + 1;
  });
}

/// This is about a round that runs, on a node that takes part in it.
bool Invariants::is_first_failure(const CoordinatorEvent& event) const {
  const auto* from = std::get_if<FromPeer>(&event);
  const auto* failed = from ? std::get_if<WorkerFailed>(&from->message) : nullptr;
  return failed && is_member(from->peer) && failed->round == round_ && !stopping_;
}

void Invariants::sent(const SendTo& action, std::vector<Sealed>& sealed) {
  if (const auto* joined = std::get_if<Joined>(&action.message)) let_in(action.peer, *joined);
  if (const auto* verdict = std::get_if<EndJob>(&action.message)) check_verdict(*verdict);
  if (std::holds_alternative<Prepare>(action.message)) counted_[action.peer].prepares = true;
  if (const auto* spare = std::get_if<Spare>(&action.message))
    counted_[action.peer].left_out = !spare->objection.empty();
  if (std::holds_alternative<HangFound>(action.message)) check_nobody_debugs();
  const auto* start = std::get_if<StartRound>(&action.message);
  if (!start) return;
  require(!verdict_.has_value(), [&] {
    return "the end is the end: " + round_name(start->round) + " is sealed after it";
  });
  require(!end_announced_, [&] {
    return "an announced end is the end: " + round_name(start->round) + " is sealed after it";
  });
  const AgentShell& member = agent(action.peer);
  require(counted_.contains(action.peer), [&] { return member.id() + " is no node of the job"; });
  require(start->round > member.told().round && start->attempt >= member.told().attempt, [&] {
    return "numbers only grow: " + round_name(start->round) + ", attempt " +
           std::to_string(start->attempt) + ", is for " + member.id() + ", which knows of " +
           round_name(member.told().round) + ", attempt " + std::to_string(member.told().attempt);
  });
  if (sealed.empty()) check_nobody_left(start->round);
  counted_[action.peer].round = start->round;
  counted_[action.peer].prepares = counted_[action.peer].left_out = false;
  counted_[action.peer].debugs = false;
  counted_[action.peer].prepared.reset();
  sealed.push_back({*start, workers_in(start->vacant, member.workers())});
}

/// A round may go on under a coordinator that has not begun it.
void Invariants::let_in(PeerId peer, const Joined& answer) {
  const AgentShell& node = agent(peer);
  counted_[peer] = {answer.resumed ? node.round() : 0, world_.time.now()};
  if (!answer.resumed) return;
  require(node.round_alive() == 0 || node.round_alive() == node.round(),
          [&] { return "who goes on has its workers: " + node.id() + " has not"; });
  require(round_ == 0 || round_ == node.round(), [&] {
    return "one round goes on: " + node.id() + " is in " + round_name(node.round()) + ", and " +
           round_name(round_) + " runs";
  });
  if (round_ > 0) return;
  went_on_ = true;
  ++rounds_that_went_on_;
  round_ = node.round();
  round_nodes_ = node.started().group_world_size;
  world_size_ = node.started().world_size;
  round_coordinator_ = node.coordinator();
  failures_ = node.told().attempt;
}

void Invariants::check_sealed(const std::vector<Sealed>& sealed) {
  const StartRound& first = sealed.front().start;
  const auto& rules = world_.plan.rounds;
  const int size = static_cast<int>(sealed.size());
  for (const auto& [peer, counted] : counted_)
    if (counted.round == first.round) failures_ = std::max(failures_, agent(peer).told().attempt);
  require(first.round > round_, [&] {
    return "rounds only grow: " + round_name(first.round) + " follows " + round_name(round_);
  });
  require(rules.terms.nodes_min <= size && size <= rules.terms.nodes_max, [&] {
    return "MIN:MAX: " + round_name(first.round) + " has " + std::to_string(size) + " nodes";
  });
  require(failures_ <= rules.terms.restarts_max && first.attempt == failures_, [&] {
    return "restart budget: " + round_name(first.round) + " is attempt " +
           std::to_string(first.attempt) + " after " + std::to_string(failures_) + " failures of " +
           std::to_string(rules.terms.restarts_max) + " allowed";
  });
  std::vector<Sealed> ranked = sealed;
  std::ranges::sort(ranked, {}, [](const Sealed& node) { return node.start.group_rank; });
  int workers = 0;
  const auto require_no_gap = [&](bool holds) {
    require(holds, [&] { return "ranks without gaps: not in " + round_name(first.round); });
  };
  for (int rank = 0; rank < size; ++rank) {
    const StartRound& start = ranked[rank].start;
    require_no_gap(start.group_rank == rank && start.group_world_size == size &&
                   start.round == first.round && start.attempt == first.attempt &&
                   start.world_size == first.world_size && start.first_rank == workers);
    workers += ranked[rank].workers;
  }
  require_no_gap(workers == first.world_size);
  round_ = first.round;
  round_nodes_ = size;
  world_size_ = first.world_size;
  round_coordinator_ = world_.coordinators;
  stopping_ = cause_awaited_ = went_on_ = false;
}

/// A node that joins a round that is not full gets a new one, prepares for it, waits a while for
/// workers that have just entered the round, or is left out. A round without members has ended,
/// even for a node that prepares for it, though no member was left to report that.
void Invariants::check_nobody_kept_waiting() {
  if (stopping_ || verdict_ || round_nodes_ == world_.plan.rounds.terms.nodes_max) return;
  if (counted_hosts() < static_cast<int>(counted_.size())) return;  // one waits for another's rank
  const auto is_served = [&](const auto& entry) {
    const auto& node = entry.second;
    const bool waits = node.prepared && world_.time.now() < *node.prepared + kJoinPatience;
    return node.round == round_ || node.prepares || waits;
  };
  const auto members = std::ranges::count_if(counted_, is_served);
  const auto left_out = std::ranges::count_if(
      counted_, [&](const auto& entry) { return !is_served(entry) && entry.second.left_out; });
  if (went_on_ && members < round_nodes_) return;  // the others are on their way
  const bool is_over = std::ranges::none_of(
      counted_, [&](const auto& entry) { return entry.second.round == round_; });
  require(round_ == 0 || is_over || members + left_out == std::ssize(counted_), [&] {
    return "nobody waits beside a round with free places: " + round_name(round_) + " has " +
           std::to_string(members) + " nodes, and there are " + std::to_string(counted_.size());
  });
}

void Invariants::check_nobody_left(int next_round) {
  for (const auto& [peer, counted] : counted_) {
    const AgentShell& left = agent(peer);
    require(left.link() != peer || left.round_alive() == 0, [&] {
      return "one round at a time: " + round_name(next_round) + " starts while workers of " +
             round_name(left.round_alive()) + " are alive on " + left.id();
    });
  }
}

/// A rank that is debugged stands still, and so do all that wait for it.
void Invariants::check_nobody_debugs() {
  for (const auto& [peer, counted] : counted_)
    require(!counted.debugs || counted.round != round_, [&] {
      return "nobody hangs while a rank is debugged: " + round_name(round_) +
             " is reported to hang, and a rank of " + agent(peer).id() + " is debugged";
    });
}

void Invariants::check_verdict(const EndJob& verdict) {
  const auto& rules = world_.plan.rounds;
  require(!verdict_ || *verdict_ == verdict, [] { return "one verdict: there are two"; });
  verdict_ = verdict;
  failures_ = std::max(failures_, failures_told());
  int finished = 0;
  for (const auto& agent : cluster_.agents)
    if (agent->round() == round_ && agent->coordinator() == round_coordinator_)
      finished += agent->finished_in_round();
  if (verdict.outcome == EndJob::Outcome::kFinished)
    require(finished == world_size_, [&] {
      return "finished means all: " + std::to_string(finished) + " of " +
             std::to_string(world_size_) + " workers of " + round_name(round_) +
             " have exited with 0";
    });
  if (verdict.outcome == EndJob::Outcome::kFailed)
    require(failures_ == rules.terms.restarts_max + 1, [&] {
      return "restart budget: given up after " + std::to_string(failures_) + " failures, " +
             std::to_string(rules.terms.restarts_max) + " restarts allowed";
    });
  if (verdict.outcome == EndJob::Outcome::kPreempted)
    require(end_announced_ || spare_announced_,
            [] { return "preempted for a reason: no node learned that the end comes"; });
  if (verdict.outcome == EndJob::Outcome::kTooFewNodes)
    require(counted_hosts() < rules.terms.nodes_min, [&] {
      return "timed out for a reason: " + std::to_string(counted_.size()) + " nodes are there, " +
             std::to_string(rules.terms.nodes_min) + " needed";
    });
}

const AgentShell& Invariants::agent(PeerId peer) const {
  return *cluster_.agents[world_.network.agent_of(static_cast<LinkId>(peer))];
}

/// When two agents want the rank of one host, one has to wait. If no ranks are wanted, every
/// connection counts.
int Invariants::counted_hosts() const {
  if (!world_.plan.ranks_wanted) return static_cast<int>(counted_.size());
  std::set<int> hosts;
  for (const auto& [peer, counted] : counted_) hosts.insert(agent(peer).host());
  return static_cast<int>(hosts.size());
}

/// The most that an agent which the coordinator counts knows of.
int Invariants::failures_told() const {
  int most = 0;
  for (const auto& [peer, counted] : counted_) most = std::max(most, agent(peer).told().attempt);
  return most;
}

}  // namespace ddprun::simulation
