#include "worker_sdk/group/process_group_state.hpp"

#include <torch/csrc/distributed/c10d/debug.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupWrapper.hpp>

#include "worker_sdk/group/group_store.hpp"
#include "worker_sdk/group/last_exit.hpp"

namespace ddprun::sdk {

namespace {

using Group = c10d::ProcessGroup;
using Milliseconds = ProcessGroup::Milliseconds;

constexpr char kJoined[] = "joined";

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
  // So DDP can also reduce gradients on a GPU that several workers share, which NCCL refuses.
  if (torch::cuda::is_available()) group.setBackend(torch::kCUDA, Group::GLOO, gloo);
  group.setDefaultBackend(Group::GLOO);
}

/// The backends that it has by now get the names, too: torch's flight recorder has them from there.
void name_group(Group& group, const std::string& path, const std::string& name) {
  group.setGroupName(path);
  group.setGroupDesc(name);
}

/// Returns the ranks that have not even begun to join. Python's workers do not say that they have
/// joined, but Gloo leaves a key of every rank, which tells as much.
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
  name_group(*group, path, name);
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
    if (missing.empty()) name_group(*group, path, name);
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
  if (std::uncaught_exceptions() > exceptions_before) {
    abandon(std::move(group));
    return;
  }
  try {
    group->shutdown();
  } catch (const std::exception&) {
    return;  // a peer is gone, so there is nothing left to close
  }
}

}  // namespace ddprun::sdk
