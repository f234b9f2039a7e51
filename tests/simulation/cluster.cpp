#include "tests/simulation/cluster.hpp"

#include <algorithm>

#include "tests/simulation/faults.hpp"

namespace ddprun::simulation {

namespace {

bool is_beat(const Parcel& parcel) {
  const auto* up = std::get_if<AgentMessage>(&parcel);
  const auto* down = std::get_if<CoordinatorMessage>(&parcel);
  return (up && std::holds_alternative<Beat>(*up)) || (down && std::holds_alternative<Beat>(*down));
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, std::size_t trace_lines_max)
    : world{seed, trace_lines_max}, invariants{world, *this}, coordinator{world, invariants} {
  world.network.on_arrival(
      [this](LinkId link, Side to, const Parcel& parcel) { deliver(link, to, parcel); });
  coordinator.when_probing([this](const std::string& endpoint) { return probe_at(endpoint); });
  for (int i = 0; i < world.plan.nodes; ++i) add_agent();
}

/// The port of an agent is its number and one more. A frozen one's system answers for it.
std::optional<bool> Cluster::probe_at(const std::string& endpoint) {
  const AgentShell& agent = *agents[static_cast<std::size_t>(number_at(endpoint) - 1)];
  if (!world.network.can_connect(agent.host())) return std::nullopt;
  return agent.gone();
}

void Cluster::add_agent() { add_agent_on(hosts_++); }

void Cluster::add_agent_on(int host) {
  const int number = static_cast<int>(agents.size());
  agents.push_back(std::make_unique<AgentShell>(world, invariants, number, host));
  agents.back()->start();
}

void Cluster::deliver(LinkId link, Side to, const Parcel& parcel) {
  AgentShell& agent = *agents[world.network.agent_of(link)];
  if (!is_beat(parcel))
    world.trace.note(world.time.now(), [&] {
      const std::string host = "host" + std::to_string(agent.host());
      return (to == Side::kAgent ? "coordinator > " + host : host + " > coordinator") + ": " +
             text_of(parcel);
    });
  if (to == Side::kAgent)
    agent.receive(link, parcel);
  else
    coordinator.receive(link, parcel);
}

bool Cluster::over() const {
  return (coordinator.job_ended() || coordinator.gone()) &&
         std::ranges::all_of(agents, [](const auto& agent) { return agent->gone(); });
}

Cluster::Outcome Cluster::run(std::uint64_t seed, std::size_t trace_lines_max) {
  Cluster cluster{seed, trace_lines_max};
  Faults faults{cluster};
  Invariants& invariants = cluster.invariants;
  const auto late = [&] {
    return invariants.deadline() && cluster.world.time.now() > *invariants.deadline();
  };
  while (!invariants.broken() && !cluster.over() && !late() && cluster.world.time.run_next())
    invariants.check();
  invariants.check_end();
  return {invariants.broken(),
          std::chrono::duration_cast<milliseconds>(cluster.world.time.now().time_since_epoch()),
          invariants.rounds(),
          faults.count(),
          cluster.world.trace.lines(),
          invariants.rounds_that_went_on()};
}

}  // namespace ddprun::simulation
