// SuccessionRun: a job whose coordinator may be lost, and followed by one of its agents, from a
// seed to its end. Each agent is in one process with what may coordinate the job; the first one
// does.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "tests/simulation/nodes.hpp"
#include "tests/simulation/succession_invariants.hpp"
#include "tests/simulation/witness_shell.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class SuccessionRun {
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
  SuccessionRun(std::uint64_t seed, std::size_t trace_lines_max);
  Outcome carry_out();
  void add_node();
  void deliver(LinkId link, Side to, const Parcel& parcel);
  void turn_away(LinkId link, const Parcel& parcel);

  void strike();
  void hit_witness();
  bool may_forget();
  bool may_start_again(const Node& node);
  void calm_down();

  World world_;
  SuccessionInvariants invariants_{world_, nodes_, SuccessionInvariants::Successors::kMost};
  Nodes nodes_{world_, invariants_};
  std::unique_ptr<WitnessShell> witness_;  // nullptr: there is none
  int faults_ = 0;
  milliseconds pause_max_{};
  TimePoint calm_at_;
  std::optional<TimePoint> calm_since_;
};

}  // namespace ddprun::simulation
