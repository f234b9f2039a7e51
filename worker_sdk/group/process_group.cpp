#include "ddprun/process_group.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/debug.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "worker_sdk/group/control_server.hpp"
#include "worker_sdk/group/gpu_files.hpp"
#include "worker_sdk/group/group_store.hpp"
#include "worker_sdk/group/process_group_state.hpp"

namespace ddprun::sdk {

namespace {

/// Gloo sends with writev(2), which has no flag to leave out the signal: a peer that dies at the
/// wrong moment would end this process without a word, in place of an error.
void survive_broken_pipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
}

/// Python does it when torch.distributed is imported; LibTorch does not do it by itself. Errors:
/// std::invalid_argument for what is neither OFF, INFO nor DETAIL.
void read_debug_level() {
  if (const auto level = environment_lookup("TORCH_DISTRIBUTED_DEBUG"); level && !level->empty())
    c10d::setDebugLevelFromEnvironment();
}

}  // namespace

int ProcessGroup::rank() const { return state_->rank; }
int ProcessGroup::size() const { return static_cast<int>(state_->global_ranks.size()); }
const std::string& ProcessGroup::name() const { return state_->name; }
const std::vector<int>& ProcessGroup::global_ranks() const { return state_->global_ranks; }
const WorkerEnv& ProcessGroup::env() const { return state_->env; }
torch::Device ProcessGroup::device() const { return state_->devices.device; }
std::string ProcessGroup::backend() const { return state_->group->getBackendName(); }
ProcessGroup::Milliseconds ProcessGroup::timeout() const { return state_->timeout; }
const c10::intrusive_ptr<c10d::ProcessGroup>& ProcessGroup::c10d_group() const {
  return state_->group;
}
StorePtr ProcessGroup::store() const { return with_prefix("program", state_->store); }

Operation ProcessGroup::operation(std::string name, Tensors tensors) const {
  return {std::move(name), state_->name, rank(), size(), std::move(tensors)};
}

std::optional<ProcessGroup> ProcessGroup::new_group(const std::vector<int>& ranks,
                                                    const SubgroupOptions& options) const {
  std::vector<int> members = ranks;
  std::ranges::sort(members);
  const Operation call = operation("new_group", {});
  if (members.empty()) call.refuse("no ranks are given");
  if (members.front() < 0 || members.back() >= size())
    call.refuse("rank " + std::to_string(members.front() < 0 ? members.front() : members.back()) +
                " is not one of 0 to " + std::to_string(size() - 1));
  if (const auto twice = std::ranges::adjacent_find(members); twice != members.end())
    call.refuse("rank " + std::to_string(*twice) + " is given twice");

  const std::string number = std::to_string(++state_->subgroups);
  const auto own = std::ranges::find(members, rank());
  if (own == members.end()) return std::nullopt;
  auto state = std::make_shared<State>();
  state->env = env();
  state->devices = state_->devices;
  state->path = state_->path == "0" ? number : state_->path + "/" + number;
  state->name = options.name.empty() ? state->path : options.name;
  state->rank = static_cast<int>(own - members.begin());
  for (const int member : members) state->global_ranks.push_back(global_ranks()[member]);
  state->timeout = options.timeout.value_or(timeout());
  state->store = with_prefix(number, state_->store);
  state->connect("new_group");
  return ProcessGroup{std::move(state)};
}

ProcessGroup make_group(const ProcessGroupOptions& options, const WorkerEnv& env,
                        const std::function<StorePtr(std::chrono::milliseconds)>& open) {
  survive_broken_pipes();
  read_debug_level();
  answer_ddprun();  // also while this worker waits for the others
  auto state = std::make_shared<ProcessGroup::State>();
  state->env = env;
  const VisibleGpus gpus{static_cast<int>(torch::cuda::device_count()),
                         environment_lookup("CUDA_VISIBLE_DEVICES"), has_gpu_driver()};
  if (const auto warning = missing_gpu_warning(options.backend, gpus); !warning.empty())
    std::cerr << "warning: rank " << env.rank << ": " << warning << std::endl;
  state->devices = choose_devices(options.backend, options.device, env.local_rank, gpus);
  const torch::Device device = state->devices.device;
  if (device.is_cuda()) {
    c10::impl::VirtualGuardImpl{device.type()}.setDevice(device);
    answer_on(device);
  }
  state->name = "default";
  state->path = "0";
  state->rank = env.rank;
  state->global_ranks.resize(env.world_size);
  std::iota(state->global_ranks.begin(), state->global_ranks.end(), 0);
  state->timeout = options.timeout.value_or(default_timeout(state->devices));
  state->store = with_prefix("0", open(state->timeout));
  state->connect("init_process_group");
  return ProcessGroup{std::move(state)};
}

namespace {

ProcessGroup meet_by(const ProcessGroupOptions& options, const InitMethod& method,
                     const WorkerEnv& env) {
  try {
    return make_group(options, env, [&](std::chrono::milliseconds timeout) {
      return open_store(method, env, timeout);
    });
  } catch (...) {
    forget_store(method, env);
    throw;
  }
}

}  // namespace

ProcessGroup init_process_group(const ProcessGroupOptions& options) {
  InitMethod method = parse_init_method(options.init_method);
  if (options.rank) method.rank = options.rank;
  if (options.world_size) method.world_size = options.world_size;
  return meet_by(options, method, place_of_worker(method, environment_lookup));
}

ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env) {
  const InitMethod method = parse_init_method(options.init_method);
  if (method.kind == InitMethod::Kind::kTcp || method.rank || method.world_size || options.rank ||
      options.world_size)
    throw std::invalid_argument{
        "init_process_group: the worker's place is given twice, by the options and by the "
        "WorkerEnv; leave out one of them"};
  return meet_by(options, method, env);
}

}  // namespace ddprun::sdk
