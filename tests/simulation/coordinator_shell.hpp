// CoordinatorShell: what Job (rendezvous/service/job.hpp) does around a CoordinatorMachine.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/rounds/coordinator_machine.hpp"
#include "tests/simulation/late_timer.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/witness_shell.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

/// The number of the coordinator at an endpoint, which is its port.
int number_at(const std::string& endpoint);

class CoordinatorShell {
 public:
  /// Finds another coordinator by its number; nullptr: there is none.
  using Others = std::function<CoordinatorShell*(int number)>;

  CoordinatorShell(World& world, Watcher& watcher)
      : CoordinatorShell{world, watcher, 0, world.plan.rounds, [](int) { return nullptr; }} {}
  /// One of several.
  CoordinatorShell(World& world, Watcher& watcher, int number, CoordinatorRules rules,
                   Others others)
      : world_{world},
        watcher_{watcher},
        number_{number},
        rules_{std::move(rules)},
        others_{std::move(others)} {
    begin();
  }
  CoordinatorShell(const CoordinatorShell&) = delete;

  /// What an agent's own port says: whether it refuses; nullopt: nothing.
  using Probing = std::function<std::optional<bool>(const std::string& endpoint)>;
  void when_probing(Probing ask) { probing_ = std::move(ask); }

  /// One that may vote, in a job of several places; null: there is none.
  void have_witness(WitnessShell* witness) { witness_ = witness; }

  /// Gets WriteMembers and PublishVerdict, where an etcd decides; see hear_etcd().
  void ask_etcd_with(std::function<void(const CoordinatorAction&)> ask) {
    ask_etcd_ = std::move(ask);
  }
  void hear_etcd(const CoordinatorEvent& said);

  void receive(LinkId link, const Parcel& parcel);

  // What may happen to it.
  void freeze() { frozen_ = true; }
  void thaw();
  void end(bool told);  // its process ends, or unless `told` its machine: then nobody hears of it
  void begin_again();   // with nothing that it knew

  bool gone() const { return gone_; }
  bool frozen() const { return frozen_; }
  TimePoint awake_since() const { return awake_since_; }
  /// Whether it asks others before it begins the job, and has not done so.
  bool may_begin_job() const;
  bool job_ended() const { return machine_->ended(); }
  int number() const { return number_; }
  bool was_started_again() const { return lives_ > 0; }
  bool reachable_from(int host) const;
  Leader leader() const { return machine_->leader(); }
  void agent_follows(const Leader& leader);
  std::int64_t epoch() const { return gone_ ? 0 : machine_->epoch(); }

 private:
  void begin();
  void hung_up(LinkId link);
  void step(const CoordinatorEvent& event);
  void perform(const CoordinatorAction& action);
  void tick();
  void arm();

  void ask_leaders(const AskLeaders& order);
  void hear_leaders(int life, const LeadersFound& found);
  void invite_witness(const InviteWitness& invitation);
  void give_up_invitation(LinkId link);
  std::optional<Leader> told_at(const std::string& place);
  void open_store(const OpenStore& order);
  void recall_nodes(int question);
  void probe(const Probe& order);
  void probe_agent(const Probe& order);
  void announce(const AnnounceLeader& order);
  void told_of(const HigherEpoch& other);

  World& world_;
  Watcher& watcher_;
  int number_;
  CoordinatorRules rules_;
  Others others_;
  Probing probing_;
  std::function<void(const CoordinatorAction&)> ask_etcd_;  // empty: there is none
  WitnessShell* witness_ = nullptr;
  std::optional<LinkId> invitation_;   // to the witness, which has not answered yet
  int lives_ = 0;                      // before this one
  std::optional<TimePoint> asked_at_;  // when it has asked last who leads
  std::optional<CoordinatorMachine> machine_;
  std::set<LinkId> agents_;  // that have joined and were not dropped
  LateTimer timer_{world_};
  bool frozen_ = false;
  bool gone_ = false;
  TimePoint awake_since_;
  std::vector<Timeline::Task> held_;  // events of the time when it was frozen
};

}  // namespace ddprun::simulation
