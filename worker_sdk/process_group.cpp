#include "worker_sdk/process_group.hpp"

#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/debug.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupWrapper.hpp>
#include <utility>

#include "worker_sdk/group_store.hpp"
#include "worker_sdk/process_group_state.hpp"

namespace ddprun::sdk {

namespace {

using Group = c10d::ProcessGroup;
using Milliseconds = ProcessGroup::Milliseconds;

constexpr char kJoined[] = "joined";

torch::Device choose_device(const std::string& backend, const WorkerEnv& env) {
  if (backend == "mpi")
    throw std::invalid_argument{
        "backend 'mpi': this LibTorch has no ProcessGroupMPI; the PyTorch wheel is built without "
        "MPI (USE_MPI=0). Use gloo or nccl; they also work under mpirun"};
  if (backend != "" && backend != "nccl" && backend != "gloo")
    throw std::invalid_argument{"backend '" + backend + "': expected nccl, gloo, or nothing"};
  const int gpus = static_cast<int>(torch::cuda::device_count());
  if (backend == "gloo" || (backend.empty() && gpus == 0)) return torch::kCPU;
  if (env.local_rank >= gpus)
    throw std::invalid_argument{"backend nccl needs a GPU for every worker: local rank " +
                                std::to_string(env.local_rank) + " sees " + std::to_string(gpus) +
                                "; start fewer workers on this node, or use gloo"};
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(env.local_rank)};
}

/// Keys as Python's torch.distributed has them, so that its workers can be met.
StorePtr with_prefix(const std::string& name, const StorePtr& store) {
  return c10::make_intrusive<c10d::PrefixStore>(name + "/", store);
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> make_gloo(const Group& group, const StorePtr& store,
                                                     Milliseconds timeout) {
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      store, group.getRank(), group.getSize(),
      c10d::ProcessGroupGloo::Options::create_default(timeout));
}

/// With TORCH_DISTRIBUTED_DEBUG=DETAIL, all ranks compare what they are about to do before they do
/// it, as in Python
/// (https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug).
c10::intrusive_ptr<c10d::Backend> checked(const c10::intrusive_ptr<c10d::Backend>& backend,
                                          const Group& group, const StorePtr& store,
                                          Milliseconds timeout) {
  if (c10d::debug_level() != c10d::DebugLevel::Detail) return backend;
  const auto own =
      c10::make_intrusive<c10d::PrefixStore>("pg_wrapper:" + group.getGroupName(), store);
  return c10::make_intrusive<c10d::ProcessGroupWrapper>(backend, make_gloo(group, own, timeout));
}

void add_nccl(Group& group, const StorePtr& store, Milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  const StorePtr own = with_prefix("cuda", store);
  const auto nccl =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(own, group.getRank(), group.getSize(), options);
  group.setBackend(torch::kCUDA, Group::NCCL, checked(nccl, group, own, timeout));
  group.setDefaultBackend(Group::NCCL);
}

void add_gloo(Group& group, const StorePtr& store, Milliseconds timeout) {
  const StorePtr own = with_prefix("cpu", store);
  const auto gloo = checked(make_gloo(group, own, timeout), group, own, timeout);
  group.setBackend(torch::kCPU, Group::GLOO, gloo);
  // DDP then reduces gradients on a GPU, too, that several workers share: NCCL refuses these.
  if (torch::cuda::is_available()) group.setBackend(torch::kCUDA, Group::GLOO, gloo);
  group.setDefaultBackend(Group::GLOO);
}

/// Who has not even begun to join. Python's workers do not say that they have joined, but Gloo
/// leaves a key of every rank.
std::vector<int> missing_ranks(c10d::Store& store, int size) {
  std::vector<int> missing;
  for (int i = 0; i < size; ++i) {
    const std::string rank = std::to_string(i);
    if (!store.check({std::string{kJoined} + "/" + rank}) && !store.check({"cpu//0/" + rank}))
      missing.push_back(i);
  }
  return missing;
}

}  // namespace

void ProcessGroup::State::connect(const std::string& operation) {
  const int size = static_cast<int>(global_ranks.size());
  group = c10::make_intrusive<Group>(store, rank, size);
  group->setGroupName(path);
  group->setGroupDesc(name);
  std::vector<int> missing;
  std::string reason;
  try {
    if (device.is_cuda()) {
      missing = await_all(*store, kJoined, rank, size, timeout);  // NCCL connects at its first use
      if (missing.empty()) add_nccl(*group, store, timeout);
    } else {
      store->set(std::string{kJoined} + "/" + std::to_string(rank), std::string{"here"});
      add_gloo(*group, store, timeout);  // connects to all
    }
  } catch (const std::exception& e) {
    reason = e.what();
    missing = missing_ranks(*store, size);
  }
  if (missing.empty() && reason.empty()) return;
  if (!missing.empty()) {
    for (int& one : missing) one = global_ranks[one];
    reason = list_ranks(missing) + (missing.size() == 1 ? " has" : " have") +
             " not joined within " + std::to_string(timeout.count()) + " ms";
  }
  throw CommunicationError{Operation{operation, name, rank, size}.describe() + ": " + reason};
}

ProcessGroup::State::~State() {
  if (!group) return;
  try {
    group->shutdown();
  } catch (const std::exception&) {
    return;  // a peer is gone: there is nothing left to close
  }
}

int ProcessGroup::rank() const { return state_->rank; }
int ProcessGroup::size() const { return static_cast<int>(state_->global_ranks.size()); }
const std::string& ProcessGroup::name() const { return state_->name; }
const std::vector<int>& ProcessGroup::global_ranks() const { return state_->global_ranks; }
const WorkerEnv& ProcessGroup::env() const { return state_->env; }
torch::Device ProcessGroup::device() const { return state_->device; }
std::string ProcessGroup::backend() const { return state_->group->getBackendName(); }
Milliseconds ProcessGroup::timeout() const { return state_->timeout; }
const c10::intrusive_ptr<Group>& ProcessGroup::c10d_group() const { return state_->group; }
StorePtr ProcessGroup::store() const { return with_prefix("program", state_->store); }

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
  state->device = device();
  state->path = state_->path == "0" ? number : state_->path + "/" + number;
  state->name = options.name.empty() ? state->path : options.name;
  state->rank = static_cast<int>(own - members.begin());
  for (const int member : members) state->global_ranks.push_back(global_ranks()[member]);
  state->timeout = options.timeout.value_or(timeout());
  state->store = with_prefix(number, state_->store);
  state->connect("new_group");
  return ProcessGroup{std::move(state)};
}

ProcessGroup init_process_group(const ProcessGroupOptions& options, const InitMethod& method,
                                const WorkerEnv& env) {
  auto state = std::make_shared<ProcessGroup::State>();
  state->env = env;
  state->device = choose_device(options.backend, env);
  if (state->device.is_cuda()) c10::cuda::set_device(state->device.index());
  state->name = "default";
  state->path = "0";
  state->rank = env.rank;
  state->global_ranks.resize(env.world_size);
  std::iota(state->global_ranks.begin(), state->global_ranks.end(), 0);
  state->timeout = options.timeout;
  try {
    state->store = with_prefix("0", open_store(method, env, options.timeout));
    state->connect("init_process_group");
  } catch (...) {
    forget_store(method, env);
    throw;
  }
  return ProcessGroup{std::move(state)};
}

ProcessGroup init_process_group(const ProcessGroupOptions& options) {
  InitMethod method = parse_init_method(options.init_method);
  if (options.rank) method.rank = options.rank;
  if (options.world_size) method.world_size = options.world_size;
  return init_process_group(options, method, place_of_worker(method, environment_lookup));
}

ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env) {
  const InitMethod method = parse_init_method(options.init_method);
  if (method.kind == InitMethod::Kind::kTcp || method.rank || method.world_size || options.rank ||
      options.world_size)
    throw std::invalid_argument{
        "init_process_group: the worker's place is given twice, by the options and by the "
        "WorkerEnv; leave out one of them"};
  return init_process_group(options, method, env);
}

}  // namespace ddprun::sdk
