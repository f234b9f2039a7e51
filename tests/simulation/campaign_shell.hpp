// CampaignShell: what EtcdElection (rendezvous/etcd/etcd_election.hpp) does around a Campaign, with
// a simulated etcd.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rendezvous/etcd/campaign.hpp"
#include "tests/simulation/late_timer.hpp"
#include "tests/simulation/own_process.hpp"
#include "tests/simulation/simulated_etcd.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class CampaignShell {
 public:
  /// Gets what is for the coordinator of the same process.
  using Listener = std::function<void(const Campaign::Action&)>;

  CampaignShell(World& world, Watcher& watcher, SimulatedEtcd& etcd, int host,
                Campaign::Rules rules, Listener tell);
  CampaignShell(const CampaignShell&) = delete;

  void seek(const Campaign::Seek& wish, TimePoint deadline, OwnProcess::Sought sought);
  void hear(const Campaign::Event& event);
  /// It ends as soon as the verdict has been written.
  void close() { closed_ = true; }

  // What may happen to its process.
  void freeze() { frozen_ = true; }
  void thaw();
  void end();
  void begin_again();

 private:
  void step(const Campaign::Event& event);
  void perform(const Campaign::Action& action);
  void ask(const EtcdRequest& request);
  void answered(int question, const EtcdAnswer& answer);
  void give_up_seeking(int search);
  void found(const std::optional<Campaign::Found>& where);
  void tell(const Campaign::Action& said);
  void tick();
  void arm();

  World& world_;
  Watcher& watcher_;
  SimulatedEtcd& etcd_;
  int host_;
  Campaign::Rules rules_;
  Listener tell_;
  std::optional<Campaign> campaign_;  // nullopt: its process has ended
  OwnProcess::Sought sought_;         // empty: nobody seeks
  int searches_ = 0;
  int questions_ = 0;
  bool is_asking_ = false;  // the last question is not answered yet
  bool closed_ = false;
  bool frozen_ = false;
  std::vector<Timeline::Task> held_;  // events of the time when it was frozen
  LateTimer timer_{world_};
};

}  // namespace ddprun::simulation
