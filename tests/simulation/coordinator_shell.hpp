// CoordinatorShell: what Job (rendezvous/rounds/job.hpp) does around a RoundMachine.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "rendezvous/rounds/round_machine.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class Invariants;

class CoordinatorShell {
 public:
  CoordinatorShell(World& world, Invariants& invariants) : world_{world}, invariants_{invariants} {
    begin();
  }
  CoordinatorShell(const CoordinatorShell&) = delete;

  void receive(LinkId link, const Parcel& parcel);

  // What may happen to it.
  void freeze() { frozen_ = true; }
  void thaw();
  void end(bool told);  // of its process, or unless `told` of its machine: then nobody hears of it
  void begin_again();   // with nothing that it knew

  bool gone() const { return gone_; }
  bool frozen() const { return frozen_; }
  TimePoint awake_since() const { return awake_since_; }
  bool job_ended() const { return machine_->ended(); }

 private:
  void begin();
  void hung_up(LinkId link);
  void step(const RoundEvent& event);
  void perform(const RoundAction& action);
  void tick();
  void arm();

  World& world_;
  Invariants& invariants_;
  std::optional<RoundMachine> machine_;
  std::set<LinkId> agents_;  // that have joined and were not dropped
  TimePoint tick_set_for_ = TimePoint::max();
  bool frozen_ = false;
  bool gone_ = false;
  TimePoint awake_since_;
  std::vector<Timeline::Task> held_;  // what came while it was frozen
};

}  // namespace ddprun::simulation
