#include "worker_sdk/group/process_group_state.hpp"

#include <torch/csrc/distributed/c10d/debug.h>

#include <algorithm>
#include <array>
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

/// The backends that are made for a group, and where they meet.
struct Maker {
  Group& group;
  const StorePtr& store;
  const std::string& path;  // the name that Python would give the group
  const std::string& name;  // for people
  const std::vector<int>& global_ranks;
  Milliseconds timeout;
  std::vector<c10::intrusive_ptr<c10d::Backend>>& wrapped;
};

/// With TORCH_DISTRIBUTED_DEBUG=DETAIL, all ranks compare what they are about to do before they do
/// it, as in Python
/// (https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug). What compares
/// passes neither the group's name on nor its end, so what it wraps is remembered.
c10::intrusive_ptr<c10d::Backend> checked(const Maker& make, const StorePtr& store,
                                          const c10::intrusive_ptr<c10d::Backend>& backend) {
  if (c10d::debug_level() != c10d::DebugLevel::Detail) return backend;
  make.wrapped.push_back(backend);
  const auto own = c10::make_intrusive<c10d::PrefixStore>("pg_wrapper:" + make.path, store);
  return c10::make_intrusive<c10d::ProcessGroupWrapper>(backend,
                                                        make_gloo(make.group, own, make.timeout));
}

#ifdef USE_C10D_NCCL
void add_nccl(const Maker& make) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = make.timeout;
  // NCCL's own messages, torch's watchdog and its flight recorder call the group and its ranks so.
  options->group_name = make.path;
  options->group_desc = make.name;
  options->global_ranks_in_group.assign(make.global_ranks.begin(), make.global_ranks.end());
  const StorePtr own = with_prefix("cuda", make.store);
  const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(own, make.group.getRank(),
                                                                make.group.getSize(), options);
  make.group.setBackend(torch::kCUDA, Group::NCCL, checked(make, own, nccl));
  make.group.setDefaultBackend(Group::NCCL);
}
#else
void add_nccl(const Maker&) {
  throw std::invalid_argument{"backend nccl: this LibTorch is one for the CPU alone"};
}
#endif

/// `alone`: there is no NCCL.
void add_gloo(const Maker& make, bool alone) {
  const StorePtr own = with_prefix("cpu", make.store);
  const auto gloo = checked(make, own, make_gloo(make.group, own, make.timeout));
  make.group.setBackend(torch::kCPU, Group::GLOO, gloo);
  if (!alone) return;
  // So DDP can also reduce gradients on a GPU that several workers share, which NCCL refuses.
  if (torch::cuda::is_available()) make.group.setBackend(torch::kCUDA, Group::GLOO, gloo);
  make.group.setDefaultBackend(Group::GLOO);
}

/// The backends that it has by now get the names, too: torch's flight recorder has them from there.
void name_group(const Maker& make) {
  make.group.setGroupName(make.path);
  make.group.setGroupDesc(make.name);
  for (const auto& backend : make.wrapped) {
    backend->setGroupUid(make.path);
    backend->setGroupDesc(make.name);
  }
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

/// What others find of a rank, to compare it with what they have chosen.
constexpr std::array kBackends{"gloo", "nccl", "cpu:gloo,cuda:nccl"};

const char* chosen_backend(const TensorDevices& devices) {
  if (devices.device.is_cpu()) return kBackends[0];
  return devices.cpu_too ? kBackends[2] : kBackends[1];
}

/// Says which ranks have chosen another backend than most; "" where all that have come agree with
/// this one, which has chosen `own`. Two questions to the store are enough where all is well.
std::string other_backends(c10d::Store& store, int size, const std::string& own) {
  const bool differ = std::ranges::any_of(kBackends, [&](const std::string& other) {
    return other != own && store.check({std::string{kJoined} + "/some/" + other});
  });
  if (!differ) return "";
  std::map<std::string, std::vector<int>> ranks;
  for (int i = 0; i < size; ++i) {
    const std::string key = std::string{kJoined} + "/" + std::to_string(i);
    if (store.check({key})) ranks[store.get_to_str(key)].push_back(i);
  }
  return describe_backends(ranks);
}

}  // namespace

void ProcessGroup::State::connect(const std::string& operation) {
  const int size = static_cast<int>(global_ranks.size());
  group = c10::make_intrusive<Group>(store, rank, size);
  const Maker make{*group, store, path, name, global_ranks, timeout, wrapped};
  name_group(make);
  std::vector<int> missing;
  std::string reason;
  const auto refuse_others = [&] {
    if (const auto odd = other_backends(*store, size, chosen_backend(devices)); !odd.empty())
      Operation{operation, name, rank, size}.refuse(odd);
  };
  try {
    if (devices.device.is_cuda()) {
      // NCCL connects at its first use, and Gloo now.
      missing =
          await_all(*store, kJoined, {rank, size, timeout, chosen_backend(devices), refuse_others});
      if (missing.empty() && devices.cpu_too) add_gloo(make, /*alone=*/false);
      if (missing.empty()) add_nccl(make);
    } else {
      announce(*store, kJoined, {rank, size, timeout, chosen_backend(devices), {}});
      refuse_others();
      add_gloo(make, /*alone=*/true);
    }
    if (missing.empty()) name_group(make);
    if (missing.empty() && devices.device.is_cuda()) on_gpu.emplace(*group);
  } catch (const std::invalid_argument&) {
    throw;
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
  on_gpu.reset();
  if (!group) return;
  if (std::uncaught_exceptions() > exceptions_before) {
    abandon(std::move(group));
    return;
  }
  try {
    group->shutdown();
    for (const auto& backend : wrapped) backend->shutdown();
  } catch (const std::exception&) {
    return;  // a peer is gone, so there is nothing left to close
  }
}

}  // namespace ddprun::sdk
