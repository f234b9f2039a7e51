// WitnessShell: what Witness (rendezvous/service/witness.hpp) does around a WitnessMachine, on a
// host of its own where no node is.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/service/witness_machine.hpp"
#include "tests/simulation/late_timer.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class WitnessShell {
 public:
  static constexpr int kNumber = 100;  // for its port
  static constexpr int kHost = 20;

  WitnessShell(World& world, Watcher& watcher);
  WitnessShell(const WitnessShell&) = delete;

  /// The coordinator, or a candidate, has connected over that link, and asks for the vote.
  void invited(LinkId link, const InviteWitness& invitation);
  void receive(LinkId link, const Parcel& parcel);

  /// Whose orders it obeys, as it tells who asks; nullopt: it does not answer.
  std::optional<Leader> tells(int host_of_asker) const;

  // What may happen to it.
  void freeze() { frozen_ = true; }
  void thaw();
  void end(bool told);
  void begin_again();  // with nothing that it knew

  bool gone() const { return gone_; }
  bool frozen() const { return frozen_; }

 private:
  void begin();
  void perform(const std::vector<WitnessAction>& actions);
  void drop(LinkId link);
  void tick();
  void arm();

  World& world_;
  Watcher& watcher_;
  int ids_ = 0;
  std::optional<WitnessMachine> machine_;
  std::set<LinkId> links_;
  LateTimer timer_{world_};
  bool frozen_ = false;
  bool gone_ = false;
  std::vector<Timeline::Task> held_;  // events of the time when it was frozen
};

}  // namespace ddprun::simulation
