#include "tests/simulation/succession_invariants.hpp"

#include <algorithm>

namespace ddprun::simulation {

namespace {

/// This is about the coordinator that admits a node, or gives it a round.
std::optional<std::int64_t> epoch_of(const CoordinatorMessage& order) {
  if (const auto* joined = std::get_if<Joined>(&order)) return joined->epoch;
  if (const auto* start = std::get_if<StartRound>(&order)) return start->epoch;
  return std::nullopt;
}

}  // namespace

void SuccessionInvariants::joins(const AgentShell& agent) {
  require(agent.round_alive() == 0 || agent.coming_back(), [&] {
    return "joined with live workers: " + agent.id() + " has some of round " +
           std::to_string(agent.round_alive());
  });
}

/// Whether nobody else is left who knows of a round: the first place may take the job for a new
/// one.
bool SuccessionInvariants::all_is_forgotten(const AgentShell* but) const {
  return std::ranges::none_of(nodes_, [&](const auto& node) {
    const AgentShell& agent = node->agent();
    return &agent != but && !agent.gone() && agent.started().round > 0;
  });
}

/// Whether all voters that know of a round are cut off from that coordinator.
bool SuccessionInvariants::is_cut_off(const CoordinatorShell& coordinator) const {
  const int host = world_.network.host_of(coordinator.number());
  return std::ranges::none_of(nodes_, [&](const auto& node) {
    const AgentShell& agent = node->agent();
    return !agent.gone() && agent.started().round > 0 &&
           world_.network.can_connect(agent.host(), host);
  });
}

void SuccessionInvariants::starts_workers(const AgentShell& agent, const StartRound& round) {
  ++rounds_;
  require(agent.round_alive() == 0,
          [&] { return "one round on a node: " + agent.id() + " has workers of another one"; });
  require(!verdict_ || !is_verdict_known_, [&] {
    return "one end: " + agent.id() + " starts workers when the job has ended for most";
  });
  if (all_is_forgotten(&agent)) attempt_ = 0;
  require(round.attempt >= attempt_, [&] {
    return "the budget never refills: attempt " + std::to_string(round.attempt) + " follows " +
           std::to_string(attempt_);
  });
  require(round.attempt >= agent.told().attempt, [&] {
    return "the budget never refills: " + agent.id() + " got attempt " +
           std::to_string(agent.told().attempt) + ", and starts " + std::to_string(round.attempt);
  });
  // What a few have begun that are all lost nobody can know.
  const int begun = ++begun_[{round.epoch, round.round}];
  const bool is_known = successors_ == Successors::kAny ? begun == round.group_world_size
                                                        : 2 * begun > round.group_world_size;
  if (is_known) attempt_ = std::max(attempt_, round.attempt);
  const auto head = heads_.find(round.epoch);
  require(head != heads_.end() && head->second == world_.network.coordinator_of(agent.link()), [&] {
    return "one coordinator an epoch: " + agent.id() + " obeys another one in epoch " +
           std::to_string(round.epoch);
  });
}

void SuccessionInvariants::exits(const AgentShell& agent) {
  require(!agent.has_processes(),
          [&] { return "nothing left behind: " + agent.id() + " exits before its workers"; });
  if (agent.end()->why != AgentEnd::Why::kJobEnded) return;
  const EndJob& end = agent.end()->job;
  if (end.outcome == EndJob::Outcome::kTooFewNodes) return;  // on its side of a cut
  require(!verdict_ || !is_verdict_known_ || end.outcome == *verdict_,
          [&] { return "one end: " + agent.id() + " ends otherwise than most have"; });
  const ConfigurationVersion last{agent.started().epoch, agent.started().round};
  if (begun_.empty() || last != begun_.rbegin()->first) return;  // it was a spare of later rounds
  const int ended = ++ended_[last];
  if (2 * ended > agent.started().group_world_size) verdict_ = end.outcome;
  if (successors_ == Successors::kMost || ended == agent.started().group_world_size)
    is_verdict_known_ = true;
}

void SuccessionInvariants::coordinator_did(const CoordinatorShell& coordinator,
                                           const CoordinatorEvent&,
                                           const std::vector<CoordinatorAction>& actions) {
  for (const CoordinatorAction& action : actions) {
    const auto* send = std::get_if<SendTo>(&action);
    const auto epoch = send ? epoch_of(send->message) : std::nullopt;
    if (!epoch) continue;
    const bool begins = *epoch == 1 && coordinator.was_started_again();
    if (begins && !all_is_forgotten() && is_cut_off(coordinator)) has_two_jobs_ = true;
    if (*epoch == 1 && all_is_forgotten()) heads_.clear();  // a new job begins
    const int head = heads_.try_emplace(*epoch, coordinator.number()).first->second;
    require(head == coordinator.number(),
            [&] { return "one coordinator an epoch: there are two of " + std::to_string(*epoch); });
  }
}

/// Nodes that etcd has forgotten may be there yet, and know of attempts and of the end. Nobody
/// waits for them.
void SuccessionInvariants::job_begins_anew() {
  attempt_ = 0;
  verdict_.reset();
  is_verdict_known_ = false;
  begun_.clear();
  ended_.clear();
}

void SuccessionInvariants::rang(const char* timer, std::optional<TimePoint> next) {
  require(!next || *next > world_.time.now(),
          [&] { return "timers do not spin: that of the " + std::string{timer} + " does"; });
}

/// Workers of two rounds are never alive together, whatever is cut. A frozen host is passed over:
/// its workers are frozen with it, and end as soon as it is awake.
void SuccessionInvariants::check_one_world() {
  constexpr milliseconds kAwakeSlack{200};
  const StartRound* world = nullptr;
  for (const auto& node : nodes_) {
    const AgentShell& agent = node->agent();
    if (const auto beside = agent.beside()) broke(*beside);
    const bool awake = !agent.frozen() && world_.time.now() - agent.awake_since() > kAwakeSlack;
    if (agent.gone() || agent.round_alive() == 0 || !awake) continue;
    const StartRound& round = agent.started();
    require(world == nullptr || (world->epoch == round.epoch && world->round == round.round), [&] {
      return "one world: workers of round " + std::to_string(world->round) + " of epoch " +
             std::to_string(world->epoch) + " and of round " + std::to_string(round.round) +
             " of epoch " + std::to_string(round.epoch) + " (" + agent.id() +
             ") are alive together";
    });
    world = &round;
  }
}

void SuccessionInvariants::check_end() {
  if (has_two_jobs_) return;
  for (const auto& node : nodes_)
    require(node->agent().gone(), [&] {
      return "nobody waits for ever: " + node->agent().id() +
             " has not ended, long after faults did";
    });
}

}  // namespace ddprun::simulation
