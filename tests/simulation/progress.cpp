// The invariants that follow from time alone: who must have stopped, been given up or gone on.
#include <algorithm>
#include <chrono>

#include "agent/decisions/self_check.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/invariants.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

/// For timers that are late, and for messages in flight.
constexpr milliseconds kSlack{200};

std::string in_seconds(Clock::duration time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count() / 1000) + " s";
}

}  // namespace

void Invariants::check() {
  check_one_live_round();
  if (is_served(world_.plan)) check_one_live_world();
  check_silent_evicted();
  for (const auto& agent : cluster_.agents) {
    if (const auto beside = agent->beside()) broke(*beside);
    check_cut_off(*agent);
    check_patience(*agent);
  }
  if (calm_since_) check_progress();
}

/// Where a server hosts the job, whatever it believes. A frozen host is passed over: its workers
/// are frozen with it, and end as soon as it is awake. So is an agent that nobody can knock at.
void Invariants::check_one_live_world() {
  const AgentShell* world = nullptr;
  for (const auto& agent : cluster_.agents) {
    const bool awake = !agent->frozen() && world_.time.now() - agent->awake_since() > kSlack;
    if (agent->gone() || agent->round_alive() == 0 || !awake || !agent->listens()) continue;
    require(!world ||
                (world->round() == agent->round() && world->coordinator() == agent->coordinator()),
            [&] {
              return "one world: " + world->id() + " has workers of " +
                     std::to_string(world->round()) + ", and " + agent->id() + " of " +
                     std::to_string(agent->round());
            });
    world = agent.get();
  }
}

void Invariants::check_one_live_round() {
  int live = 0;
  for (const auto& agent : cluster_.agents) {
    const int round = agent->round_alive();
    if (round == 0 || round == live || !counted_.contains(agent->link())) continue;
    require(live == 0, [&] {
      return "one round at a time: workers of rounds " + std::to_string(live) + " and " +
             std::to_string(round) + " are alive together";
    });
    live = round;
  }
}

void Invariants::check_silent_evicted() {
  if (verdict_ || cluster_.coordinator.frozen() || cluster_.coordinator.gone()) return;
  const auto timeout = world_.plan.rounds.terms.heartbeat_timeout;
  const TimePoint awake_since = cluster_.coordinator.awake_since();
  for (const auto& [peer, counted] : counted_) {
    const AgentShell& silent = agent(peer);
    const auto silence = world_.time.now() - std::max(counted.heard, awake_since);
    require(silence <= timeout + timeout / 10 + kSlack, [&] {
      return "silence is noticed: nothing was heard of " + silent.id() + " for " +
             in_seconds(silence) + ", and it is not lost";
    });
  }
}

void Invariants::check_cut_off(const AgentShell& agent) {
  if (agent.gone() || agent.frozen() || agent.round_alive() == 0) return;
  const auto silence = world_.time.now() - agent.last_heard();
  require(silence <= world_.plan.group.terms.heartbeat_timeout + stop_max() + kSlack, [&] {
    return "who is cut off stops: " + agent.id() + " has heard nothing for " + in_seconds(silence) +
           ", and workers of " + std::to_string(agent.round_alive()) + " are alive";
  });
}

/// Nothing has kept the two from hearing each other for longer than either waits for the other.
bool Invariants::undisturbed(const AgentShell& agent) const {
  const CoordinatorShell& coordinator = cluster_.coordinator;
  if (agent.gone() || agent.frozen() || !agent.connected()) return false;
  if (coordinator.gone() || coordinator.frozen()) return false;
  const milliseconds enough = world_.plan.rounds.terms.heartbeat_timeout + kSlack;
  const TimePoint awake_since = std::max(agent.awake_since(), coordinator.awake_since());
  return world_.time.now() - awake_since >= enough &&
         world_.network.healthy_for(agent.link(), enough);
}

void Invariants::check_lost(const DropPeer& lost) {
  const AgentShell& node = agent(lost.peer);
  if (node.link() != lost.peer) return;  // it has given that connection up itself
  require(!lost.reason.starts_with("silent") || !undisturbed(node), [&] {
    return "who is there is heard: " + node.id() + " is lost because it is " + lost.reason +
           ", and nothing kept it from beating";
  });
  require(!lost.reason.starts_with("it has not stopped") || !undisturbed(node), [&] {
    return "who stops is waited for: " + node.id() +
           " is dropped, and nothing kept it from stopping";
  });
  require(!lost.reason.starts_with("its agent has connected again"), [&] {
    return "the newest connection counts: that of " + node.id() + " is dropped for an older one";
  });
}

void Invariants::gives_up_coordinator(const AgentShell& agent) {
  const bool answers = counted_.contains(agent.link()) && !verdict_;
  require(!answers || !undisturbed(agent), [&] {
    return "who is there is heard: " + agent.id() +
           " gives the coordinator up, and nothing kept it from answering";
  });
}

milliseconds Invariants::patience_with_refusals(const AgentShell& agent) const {
  const auto& rules = world_.plan.rounds;
  return agent.ever_joined() ? rules.terms.heartbeat_timeout : rules.terms.join_timeout;
}

void Invariants::check_patience(const AgentShell& agent) {
  if (agent.gone() || agent.frozen() || !agent.refused_since()) return;
  const auto tried = world_.time.now() - std::max(*agent.refused_since(), agent.awake_since());
  require(tried <= patience_with_refusals(agent) + kSlack, [&] {
    return "nobody waits for a coordinator that is gone: host" + std::to_string(agent.host()) +
           " has been refused for " + in_seconds(tried) + ", and goes on trying";
  });
}

/// The patience with refusals begins with the last attempt that was none; and no attempt is begun
/// that would come after its end, a pause later. An agent that wakes from a long sleep finds that
/// its patience has ended meanwhile.
void Invariants::gives_up_connecting(const AgentShell& agent) {
  if (agent.coming_back()) return;  // its lease ends before
  if (world_.time.now() - agent.awake_since() < 2 * ConnectPlan::kLongestPause) return;
  const TimePoint now = world_.time.now() + 2 * ConnectPlan::kLongestPause;
  const bool long_enough = now - *agent.connecting_since() >= world_.plan.rounds.terms.join_timeout;
  const bool refused_enough =
      agent.refused_since() && now - agent.last_not_refused() >= patience_with_refusals(agent);
  require(long_enough || refused_enough, [&] {
    return "a coordinator may come back: host" + std::to_string(agent.host()) + " gives up after " +
           in_seconds(world_.time.now() - *agent.connecting_since());
  });
}

void Invariants::calm_begins() {
  const int stops =
      world_.plan.rounds.terms.restarts_max + 2 + static_cast<int>(cluster_.agents.size());
  const milliseconds longest_delay{world_.plan.rounds.terms.restarts.delay_max_ms};
  calm_since_ = last_fine_ = world_.time.now();
  deadline_ = world_.time.now() + stops * (world_.plan.run_max + pause_max() + longest_delay) +
              world_.plan.rounds.terms.join_timeout;
}

void Invariants::check_progress() {
  const TimePoint now = world_.time.now();
  const auto able = std::ranges::count_if(
      cluster_.agents, [](const auto& agent) { return !agent->gone() && !agent->told_to_stop(); });
  const bool over = verdict_ || cluster_.coordinator.gone();
  const bool announced = std::ranges::any_of(cluster_.agents, [&](const auto& a) {
    return !a->gone() && a->end_announced() && is_member(a->link());
  });
  require(!announced || over || now - *calm_since_ <= pause_max(), [&] {
    return "an announced end is the end: a node has known of it for " +
           in_seconds(now - *calm_since_) + ", and the job goes on";
  });
  if (over || able < world_.plan.rounds.terms.nodes_min || round_runs()) last_fine_ = now;
  require(now - last_fine_ <= pause_max(), [&] {
    return "progress: " + std::to_string(able) + " nodes are there, " +
           std::to_string(world_.plan.rounds.terms.nodes_min) +
           " needed, and no round has run for " + in_seconds(now - last_fine_);
  });
}

/// In fact, and not only in the eyes of the coordinator.
bool Invariants::round_runs() const {
  int members = 0;
  for (const auto& [peer, counted] : counted_) {
    if (counted.round != round_ || round_ == 0) continue;
    const AgentShell& member = agent(peer);
    if (member.gone() || member.link() != peer || member.round() != round_) return false;
    ++members;
  }
  return members > 0 && !stopping_;
}

void Invariants::check_end() {
  for (const auto& agent : cluster_.agents)
    require(agent->gone(), [&] {
      return "nobody waits for ever: " + agent->id() + " has not ended, long after faults did";
    });
  require(cluster_.coordinator.job_ended() || cluster_.coordinator.gone(),
          [] { return "nobody waits for ever: the job has not ended, long after faults did"; });
}

/// From the order to stop to the end of the last worker.
milliseconds Invariants::stop_max() const {
  const milliseconds stuck = world_.plan.stuck_percent > 0 ? kKillTimeout + kSweepTimeout : 0ms;
  const milliseconds checkpoint = ever_announced_ ? world_.plan.group.preempt_timeout : 0ms;
  const milliseconds look = world_.plan.group.checks_itself ? kCheckTimeMax : 0ms;
  return checkpoint + world_.plan.group.terms.shutdown_timeout + stuck + look + kSlack;
}

/// Silence is noticed, workers are stopped, nodes join again, and for that the others are stopped.
milliseconds Invariants::pause_max() const {
  const auto& rules = world_.plan.rounds;
  const auto left_over = is_served(world_.plan) ? 2 * rules.terms.heartbeat_timeout : 0ms;
  return left_over + 3 * rules.terms.heartbeat_timeout + 2 * stop_max() +
         rules.terms.last_call_timeout + 5s;
}

}  // namespace ddprun::simulation
