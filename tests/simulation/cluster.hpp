// Cluster: one coordinator and its agents on a fake network, from a seed to the end of the job.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/agent_shell.hpp"
#include "tests/simulation/coordinator_shell.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class Cluster {
 public:
  Cluster(std::uint64_t seed, std::size_t trace_lines_max);
  Cluster(const Cluster&) = delete;

  struct Outcome {
    std::optional<std::string> broken;  // the invariant
    std::chrono::milliseconds simulated{};
    int rounds = 0;
    int faults = 0;
    std::deque<std::string> trace;
    int went_on = 0;  // rounds under a server that was started again
  };
  static Outcome run(std::uint64_t seed, std::size_t trace_lines_max);

  /// Starts an agent on a host of its own.
  void add_agent();
  /// As above, on a host where the last agent is gone, which is another one.
  void add_agent_on(int host);

  World world;
  Invariants invariants;
  CoordinatorShell coordinator;
  std::vector<std::unique_ptr<AgentShell>> agents;

 private:
  void deliver(LinkId link, Side to, const Parcel& parcel);
  bool over() const;
  std::optional<bool> probe_at(const std::string& endpoint);
  int hosts_ = 0;
};

}  // namespace ddprun::simulation
