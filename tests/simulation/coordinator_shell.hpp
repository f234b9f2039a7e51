// CoordinatorShell: what Job (rendezvous/rounds/job.hpp) does around a CoordinatorMachine.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/rounds/round_machine.hpp"
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
  CoordinatorShell(World& world, Watcher& watcher, int number, RoundRules rules, Others others)
      : world_{world},
        watcher_{watcher},
        number_{number},
        rules_{std::move(rules)},
        others_{std::move(others)} {
    begin();
  }
  CoordinatorShell(const CoordinatorShell&) = delete;

  /// What an agent's own port says: whether it refuses; nullopt: nothing.
  using Knocking = std::function<std::optional<bool>(const std::string& endpoint)>;
  void when_knocking(Knocking ask) { knocking_ = std::move(ask); }

  /// One that may vote, in a job of several places.
  void have_witness(WitnessShell* witness);

  void receive(LinkId link, const Parcel& parcel);

  // What may happen to it.
  void freeze() { frozen_ = true; }
  void thaw();
  void end(bool told);  // of its process, or unless `told` of its machine: then nobody hears of it
  void begin_again();   // with nothing that it knew

  bool gone() const { return gone_; }
  bool frozen() const { return frozen_; }
  TimePoint awake_since() const { return awake_since_; }
  bool may_begin_job() const { return !gone_ && machine_->may_begin_job(); }
  bool job_ended() const { return machine_->ended(); }
  int number() const { return number_; }
  bool reachable_from(int host) const;
  Leader leader() const { return machine_->leader(); }
  void led_by(const Leader& leader);
  std::int64_t epoch() const { return gone_ ? 0 : machine_->epoch(); }

 private:
  void begin();
  void hung_up(LinkId link);
  void step(const CoordinatorEvent& event);
  void perform(const CoordinatorAction& action);
  void tick();
  void arm();

  void look_around();
  void look_for_witness();
  void invite_witness();
  void give_up_invitation(LinkId link);
  std::optional<Leader> told_at(const std::string& place);
  void open_store(const OpenStore& order);
  void knock(const Probe& order);
  void knock_at_agent(const Probe& order);
  void herald();
  void told_of(const HigherEpoch& other);

  World& world_;
  Watcher& watcher_;
  int number_;
  RoundRules rules_;
  Others others_;
  Knocking knocking_;
  WitnessShell* witness_ = nullptr;
  std::optional<LinkId> invitation_;  // to the witness, which has not answered yet
  int lives_ = 0;                     // before this one
  std::optional<AnnounceLeader> heralding_;
  std::optional<CoordinatorMachine> machine_;
  std::set<LinkId> agents_;  // that have joined and were not dropped
  LateTimer timer_{world_};
  bool frozen_ = false;
  bool gone_ = false;
  TimePoint awake_since_;
  std::vector<Timeline::Task> held_;  // what came while it was frozen
};

}  // namespace ddprun::simulation
