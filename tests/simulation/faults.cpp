#include "tests/simulation/faults.hpp"

#include <algorithm>
#include <csignal>
#include <string>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAgentsMax = 10;
constexpr milliseconds kSecondSignalMax{2'000};
constexpr milliseconds kAnnouncementsApartMax{1'000};

}  // namespace

Faults::Faults(Cluster& cluster) : cluster_{cluster}, world_{cluster.world} {
  pause_max_ = world_.random.time(1s, 40s);
  calm_at_ = world_.time.now() + world_.random.time(20s, 300s);
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
}

void Faults::strike() {
  if (world_.time.now() >= calm_at_) return calm_down();
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
  ++count_;
  AgentShell& agent =
      *cluster_.agents[world_.random.number(0, static_cast<int>(cluster_.agents.size()) - 1)];
  const int kind = world_.random.number(0, 99);
  if (kind < 1) {
    announce_end();
  } else if (kind < 15 && cluster_.agents.size() < kAgentsMax) {
    start_agent(agent);
  } else if (kind < (is_served(world_.plan) ? 30 : 20)) {
    hit_coordinator();
  } else if (agent.gone()) {
    --count_;
  } else if (kind < 50) {
    hit_node(agent);
  } else if (kind < 80) {
    hit_network(agent);
  } else {
    hit_workers(agent);
  }
}

void Faults::hit_node(AgentShell& agent) {
  const int kind = world_.random.number(0, 99);
  if (kind < 20) {
    note("is killed", agent);
    agent.kill();
  } else if (kind < 30) {
    note("loses its power", agent);
    agent.power_off();
  } else if (kind < 85) {
    freeze(agent);
  } else {
    note("gets SIGTERM", agent);
    agent.stop_signal(SIGTERM);
    if (world_.random.chance(50))
      world_.time.after(world_.random.time(0ms, kSecondSignalMax),
                        [&agent] { agent.stop_signal(SIGTERM); });
  }
}

/// On a host of its own; or on that of an agent that is gone, as when a machine was started again,
/// and the coordinator may not have missed it yet.
void Faults::start_agent(const AgentShell& gone) {
  const bool again = gone.gone() && std::ranges::none_of(cluster_.agents, [&](const auto& other) {
                       return !other->gone() && other->host() == gone.host();
                     });
  if (again) {
    world_.network.heal(gone.host());
    cluster_.add_agent_on(gone.host());
  } else {
    cluster_.add_agent();
  }
  note(again ? "starts again" : "starts", *cluster_.agents.back());
}

/// As schedulers do: to all nodes of the job, or to those that somebody else shall have.
void Faults::announce_end() {
  world_.trace.note(world_.time.now(), [] { return "* the scheduler announces the end"; });
  const int percent = world_.random.chance(50) ? 100 : world_.random.number(10, 90);
  const int signal = world_.random.chance(50) ? SIGTERM : SIGUSR1;
  for (const auto& agent : cluster_.agents)
    if (world_.random.chance(percent))
      world_.time.after(world_.random.time(0ms, kAnnouncementsApartMax),
                        [&agent = *agent, signal] { agent.announce_end(signal); });
}

void Faults::freeze(AgentShell& agent) {
  if (agent.frozen()) return;
  note("freezes", agent);
  agent.freeze();
  world_.time.after(a_while(), [this, &agent] {
    if (agent.frozen()) note("thaws", agent);
    agent.thaw();
  });
}

void Faults::hit_coordinator() {
  if (cluster_.coordinator.frozen() || cluster_.coordinator.gone()) return;
  if (world_.random.chance(35)) return end_coordinator();
  world_.trace.note(world_.time.now(), [] { return "* the coordinator freezes"; });
  cluster_.coordinator.freeze();
  world_.time.after(a_while(), [this] {
    world_.trace.note(world_.time.now(), [] { return "* the coordinator thaws"; });
    cluster_.coordinator.thaw();
  });
}

/// Usually it is started again, and knows nothing of the job.
void Faults::end_coordinator() {
  const bool told = world_.random.chance(70);
  const bool comes_back = world_.random.chance(70) && !cluster_.coordinator.job_ended();
  world_.trace.note(world_.time.now(), [&] {
    return std::string{"* the coordinator ends"} + (told ? "" : ", and nobody hears of it");
  });
  cluster_.coordinator.end(told);
  if (!comes_back) return;
  const bool soon = is_served(world_.plan) && world_.random.chance(70);
  const auto away =
      world_.random.time(10ms, world_.plan.rounds.terms.heartbeat_timeout * 3 / (soon ? 8 : 2));
  world_.time.after(away, [this] {
    world_.trace.note(world_.time.now(), [] { return "* the coordinator starts again"; });
    cluster_.coordinator.begin_again();
  });
}

void Faults::hit_network(AgentShell& agent) {
  const int kind = world_.random.number(0, 99);
  if (kind < 30) {
    break_link(agent);
  } else if (kind < 80) {
    cut(agent);
  } else {
    note("has a slow link", agent);
    world_.network.slow_down(agent.host(), world_.random.time(50ms, 1500ms));
  }
}

void Faults::break_link(AgentShell& agent) {
  if (agent.link() < 0) return;
  if (world_.random.chance(50)) {
    note("has a connection that breaks", agent);
    return world_.network.break_link(agent.link(), when_learned(), when_learned());
  }
  note("has a connection that is reset, and looks open to the coordinator", agent);
  world_.network.break_link(agent.link(), 0ms, std::nullopt);
}

void Faults::cut(AgentShell& agent) {
  note("is cut off", agent);
  const int kind = world_.random.number(0, 3);  // one way, the other way, both
  world_.network.cut(agent.host(), kind != 1, kind != 0);
  world_.time.after(a_while(), [this, &agent] {
    if (agent.gone()) return;
    note("is no longer cut off", agent);
    world_.network.heal(agent.host());
  });
}

void Faults::hit_workers(AgentShell& agent) {
  if (world_.random.chance(40)) return look_at_worker(agent);
  const bool fails = world_.random.chance(70);
  note(fails ? "has a worker that fails" : "has a worker that exits with 0", agent);
  agent.worker_exits({.code = fails ? 1 : 0});
}

/// Somebody opens a debugger because a worker waits, or closes it.
void Faults::look_at_worker(AgentShell& agent) {
  const int kind = world_.random.number(0, 99);
  note(kind < 50   ? "has a worker that is debugged"
       : kind < 75 ? "has no worker that is debugged"
                   : "has a worker that waits",
       agent);
  kind < 75 ? agent.debug_worker(kind < 50) : agent.worker_waits();
  if (kind < 50 && world_.random.chance(70)) agent.worker_waits();
}

/// What lost its power stays away: its cable is the only one that is not healed.
void Faults::calm_down() {
  world_.trace.note(world_.time.now(), [] { return "* no more faults"; });
  for (const auto& agent : cluster_.agents) {
    agent->thaw();
    world_.network.slow_down(agent->host(), Network::kDelayMax);
    if (!agent->gone()) world_.network.heal(agent->host());
  }
  cluster_.coordinator.thaw();
  cluster_.invariants.calm_begins();
}

void Faults::note(const char* what, const AgentShell& agent) {
  world_.trace.note(world_.time.now(),
                    [&] { return "* host" + std::to_string(agent.host()) + " " + what; });
}

std::optional<milliseconds> Faults::when_learned() {
  if (world_.random.chance(30)) return std::nullopt;
  return world_.random.time(0ms, a_while());
}

/// Shorter or longer than the timeout that notices it.
milliseconds Faults::a_while() {
  return world_.random.time(100ms, 3 * world_.plan.rounds.terms.heartbeat_timeout);
}

}  // namespace ddprun::simulation
