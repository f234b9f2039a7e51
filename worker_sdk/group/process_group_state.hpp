// What a ProcessGroup is made of. Not for programs.
#pragma once

#include <atomic>

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

struct ProcessGroup::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// Makes `group` of what the other members say, and returns when all ranks are there. `operation`
  /// is what the program has called. Errors: CommunicationError, naming the missing ranks.
  void connect(const std::string& operation);

  WorkerEnv env;
  torch::Device device = torch::kCPU;
  std::string name;
  std::string path;  // the names that Python gives to groups: "0", of its sub-groups "1", "2"...
  int rank = 0;
  std::vector<int> global_ranks;
  Milliseconds timeout{};
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  mutable std::atomic<int> subgroups{0};
  mutable std::atomic<int> monitored_barriers{0};
};

}  // namespace ddprun::sdk
