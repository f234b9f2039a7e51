// Faults: what happens to a cluster, drawn from its seed; and the calm that follows, in which the
// job has to come to its end.
#pragma once

#include "tests/simulation/cluster.hpp"

namespace ddprun::simulation {

class Faults {
 public:
  explicit Faults(Cluster& cluster);

  int count() const { return count_; }

 private:
  void strike();
  void calm_down();
  void hit_node(AgentShell& agent);
  void hit_network(AgentShell& agent);
  void announce_end();
  void hit_workers(AgentShell& agent);
  void look_at_worker(AgentShell& agent);
  void start_agent(const AgentShell& gone);
  void freeze(AgentShell& agent);
  void hit_coordinator();
  void end_coordinator();
  void break_link(AgentShell& agent);
  void cut(AgentShell& agent);
  void note(const char* what, const AgentShell& agent);
  std::optional<milliseconds> when_learned();
  milliseconds a_while();

  Cluster& cluster_;
  World& world_;
  milliseconds pause_max_;  // between faults
  TimePoint calm_at_;
  int count_ = 0;
};

}  // namespace ddprun::simulation
