// Node: a host with an agent and what may coordinate the job in its process. When that was killed,
// ddprun may be started there again.
#pragma once

#include <memory>
#include <vector>

#include "tests/simulation/agent_shell.hpp"
#include "tests/simulation/campaign_shell.hpp"
#include "tests/simulation/coordinator_shell.hpp"
#include "tests/simulation/own_process.hpp"

namespace ddprun::simulation {

std::string host_name(int host);
/// Where the process on that host coordinates: its port is its number, and numbers begin with 1.
std::string endpoint_of(int host);

class Node final : public OwnProcess {
 public:
  /// `etcd` says who coordinates; null: the nodes do.
  Node(World& world, Watcher& watcher, int host, CoordinatorRules rules,
       CoordinatorShell::Others others, SimulatedEtcd* etcd);
  Node(const Node&) = delete;

  void start() { agent_->start(); }

  // What may happen to it.
  void kill();
  void power_off();
  void freeze();
  void thaw();
  void start_again();

  int host() const { return host_; }
  bool is_off() const { return off_; }
  CoordinatorShell& coordinator() { return coordinator_; }
  const CoordinatorShell& coordinator() const { return coordinator_; }
  AgentShell& agent() { return *agent_; }
  const AgentShell& agent() const { return *agent_; }

 private:
  void led_by(const Leader& leader) override;
  bool can_seek() const override { return campaign_ != nullptr; }
  void seek(const Campaign::Seek& wish, TimePoint deadline, Sought sought) override;
  void agent_ended() override;
  void add_agent();
  void campaign_with(SimulatedEtcd& etcd);

  World& world_;
  Watcher& watcher_;
  int host_;
  CoordinatorShell coordinator_;
  std::unique_ptr<CampaignShell> campaign_;  // null: no etcd is asked
  std::unique_ptr<AgentShell> agent_;
  std::vector<std::unique_ptr<AgentShell>> before_;  // agents that were killed
  bool off_ = false;                                 // no power: no process answers on its host
};

}  // namespace ddprun::simulation
