// EtcdRun: a job whose coordinator an etcd chooses, from a seed to its end. Nodes are lost as in a
// SuccessionRun; what is more, the etcd is slow, restarts, and is cut off from some nodes.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "tests/simulation/nodes.hpp"
#include "tests/simulation/simulated_etcd.hpp"
#include "tests/simulation/succession_invariants.hpp"

namespace ddprun::simulation {

class EtcdRun {
 public:
  struct Outcome {
    std::optional<std::string> broken;  // the first invariant that was
    std::deque<std::string> trace;
    milliseconds simulated{};
    int rounds = 0;
    int faults = 0;
    int heads = 0;  // that there were, one after the other
  };
  static Outcome run(std::uint64_t seed, std::size_t trace_lines_max);

 private:
  EtcdRun(std::uint64_t seed, std::size_t trace_lines_max);
  Outcome carry_out();
  bool is_late() const;

  void strike();
  void hit_etcd();
  void stop_etcd();
  void cut_off_etcd();
  bool may_begin_anew();
  void calm_down();

  World world_;
  SimulatedEtcd etcd_{world_};
  SuccessionInvariants invariants_{world_, nodes_, SuccessionInvariants::Successors::kAny};
  Nodes nodes_{world_, invariants_, &etcd_};
  int faults_ = 0;
  milliseconds pause_max_{};
  TimePoint calm_at_;
  std::optional<TimePoint> calm_since_;
};

}  // namespace ddprun::simulation
