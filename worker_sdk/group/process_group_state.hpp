// ProcessGroup::State: what all handles of one group share.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>

#include "ddprun/process_group.hpp"
#include "worker_sdk/group/gpu_groups.hpp"
#include "worker_sdk/group/group_place.hpp"

namespace ddprun::sdk {

struct ProcessGroup::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// Connects with the other members through `store`, sets `group`, and returns when all ranks are
  /// there. `operation` is the function that the program has called. Errors: CommunicationError,
  /// naming the missing ranks; std::invalid_argument where ranks have chosen different backends,
  /// naming the odd ones.
  void connect(const std::string& operation);

  WorkerEnv env;
  TensorDevices devices;
  std::string name;
  std::string path;  // as Python names groups: "0" is the first one, "1", "2"... its sub-groups
  int rank = 0;
  std::vector<int> global_ranks;
  Milliseconds timeout{};
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::vector<c10::intrusive_ptr<c10d::Backend>> wrapped;  // in debug mode: what `group` uses
  std::optional<GpuGroup> on_gpu;                          // set where `group` has NCCL
  int exceptions_before = std::uncaught_exceptions();      // in flight when it was made
  mutable std::atomic<int> subgroups{0};
  mutable std::atomic<int> monitored_barriers{0};
};

/// Makes the group of all workers, as init_process_group() does, over the store that `open`
/// returns, which has no other group's keys. Errors: those of init_process_group(), and of `open`,
/// which gets the group's timeout.
ProcessGroup make_group(
    const ProcessGroupOptions& options, const WorkerEnv& env,
    const std::function<c10::intrusive_ptr<c10d::Store>(std::chrono::milliseconds timeout)>& open);

}  // namespace ddprun::sdk
