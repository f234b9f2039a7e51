#include "worker_sdk/group/group_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <tuple>

namespace ddprun::sdk {

namespace {

// The name that torch.distributed gives its default group, under which Python's workers look for
// keys.
constexpr char kDefaultGroup[] = "default_pg";

/// Names a store that is open. The process id is part of it because a forked child is another
/// worker, which must not use its parent's connection.
using StoreKey = std::tuple<pid_t, std::string, int>;

struct OpenStore {
  StorePtr store;
  int groups = 0;  // how many have met there
};

std::mutex open_stores_mutex;

/// They are never closed: the kernel does that when the process ends. A store that rank 0 serves
/// must not be gone before rank 0 is.
std::map<StoreKey, OpenStore>& open_stores() {
  static auto& stores = *new std::map<StoreKey, OpenStore>;
  return stores;
}

StoreKey key_of(const InitMethod& method, const WorkerEnv& env) {
  const std::string place = method.kind == InitMethod::Kind::kFile
                                ? method.path
                                : env.master_addr + ":" + std::to_string(env.master_port);
  return {getpid(), place, env.world_size};
}

StorePtr connect(const InitMethod& method, const WorkerEnv& env,
                 std::chrono::milliseconds timeout) {
  if (method.kind == InitMethod::Kind::kFile)
    return c10::make_intrusive<c10d::FileStore>(method.path, env.world_size);
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(env.master_port);
  options.isServer = !env.use_agent_store && env.rank == 0;
  options.numWorkers = env.world_size;
  // A client must announce itself, because a server in Python waits for that. Our server does not
  // wait here, because it could not say who is missing.
  options.waitWorkers = !options.isServer;
  options.timeout = timeout;
  options.multiTenant = true;
  return c10::make_intrusive<c10d::TCPStore>(env.master_addr, options);
}

/// Removes the keys of a meeting to which everybody has come, because a store that a launcher
/// serves for weeks must not fill up. Rank 0 goes last: it may serve the store itself, and end
/// next.
void leave(c10d::Store& store, const std::string& key, const Attendance& own) try {
  store.deleteKey(key + "/" + std::to_string(own.rank));
  if (own.rank != 0) {
    if (store.add(key + "/left", 1) == own.size - 1) store.set(key + "/done", std::string{"here"});
    return;
  }
  if (own.size > 1) store.wait({key + "/done"}, own.timeout);
  for (const char* name : {"/count", "/all", "/left", "/done"}) store.deleteKey(key + name);
  store.deleteKey(key + "/some/" + own.brings);  // all ranks delete the same one
} catch (const c10::Error&) {
  return;  // somebody has died since, but the meeting has taken place
}

}  // namespace

StorePtr connect_store(const InitMethod& method, const WorkerEnv& env,
                       std::chrono::milliseconds timeout) try {
  return connect(method, env, timeout);
} catch (const c10::Error& e) {
  const std::string place = method.kind == InitMethod::Kind::kFile
                                ? "the file '" + method.path + "'"
                                : env.master_addr + ":" + std::to_string(env.master_port);
  const bool serves = env.rank == 0 && !env.use_agent_store;
  throw std::runtime_error{
      "init_process_group (rank " + std::to_string(env.rank) + " of " +
      std::to_string(env.world_size) + "): " +
      (serves
           ? "cannot serve the store at " + place
           : "cannot reach the store at " + place + " within " + std::to_string(timeout.count()) +
                 " ms" + (env.use_agent_store ? "" : "; rank 0, which serves it, is missing")) +
      ": " + e.what_without_backtrace()};
}

StorePtr open_store(const InitMethod& method, const WorkerEnv& env,
                    std::chrono::milliseconds timeout) {
  const std::lock_guard lock{open_stores_mutex};
  OpenStore& open = open_stores()[key_of(method, env)];
  if (!open.store) open.store = connect_store(method, env, timeout);
  open.store->setTimeout(timeout);
  const int before = open.groups++;
  const std::string prefix =
      before == 0 ? kDefaultGroup : kDefaultGroup + std::string{"#"} + std::to_string(before);
  return c10::make_intrusive<c10d::PrefixStore>(prefix, open.store);
}

void forget_store(const InitMethod& method, const WorkerEnv& env) {
  const std::lock_guard lock{open_stores_mutex};
  open_stores().erase(key_of(method, env));
}

StorePtr with_prefix(const std::string& name, const StorePtr& store) {
  return c10::make_intrusive<c10d::PrefixStore>(name + "/", store);
}

void announce(c10d::Store& store, const std::string& key, const Attendance& own) {
  store.set(key + "/some/" + own.brings, std::string{"here"});
  store.set(key + "/" + std::to_string(own.rank), own.brings);
  if (store.add(key + "/count", 1) == own.size) store.set(key + "/all", std::string{"here"});
}

std::vector<int> await_all(c10d::Store& store, const std::string& key, const Attendance& own) {
  announce(store, key, own);
  try {
    store.wait({key + "/all"}, own.timeout);
  } catch (const c10::Error&) {
    std::vector<int> missing;
    for (int i = 0; i < own.size; ++i)
      if (!store.check({key + "/" + std::to_string(i)})) missing.push_back(i);
    if (!missing.empty() || !store.check({key + "/all"})) return missing;
  }
  own.when_all();
  leave(store, key, own);
  return {};
}

std::string describe_backends(const std::map<std::string, std::vector<int>>& ranks) {
  const auto usual =
      std::ranges::max_element(ranks, {}, [](const auto& one) { return one.second.size(); });
  std::string odd;
  for (auto one = ranks.begin(); one != ranks.end(); ++one) {
    if (one == usual) continue;
    odd += (odd.empty() ? "" : ", ") + list_ranks(one->second) +
           (one->second.size() == 1 ? " has" : " have") + " chosen " + one->first;
  }
  if (odd.empty()) return "";
  return odd + ", the others " + usual->first +
         "; all need the same: either some node's GPUs cannot be used (does nvidia-smi show them "
         "there?), or the ranks were given different backends";
}

std::string list_ranks(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return "rank " + std::to_string(ranks.front());
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;  // the last one of a row of neighbours
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;
    const bool is_end = last + 1 == ranks.size();
    if (i > 0) text += is_end ? " and " : ", ";
    text += std::to_string(ranks[i]);
    if (last > i) text += " to " + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace ddprun::sdk
