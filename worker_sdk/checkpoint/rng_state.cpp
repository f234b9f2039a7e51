#include "worker_sdk/checkpoint/rng_state.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

using States = std::map<std::string, torch::Tensor>;

/// The worker's generators, by name. Generators are handles: a copy is the same generator.
std::map<std::string, at::Generator> generators(const ProcessGroup& group) {
  std::map<std::string, at::Generator> found{{"cpu", at::detail::getDefaultCPUGenerator()}};
  if (group.device().is_cuda())
    found.emplace("cuda", at::globalContext().defaultGenerator(group.device()));
  return found;
}

std::string key(int rank, const std::string& name) { return std::to_string(rank) + "/" + name; }

torch::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock{generator.mutex()};
  return generator.get_state();
}

}  // namespace

States gather_rng_states(const ProcessGroup& group) {
  States gathered;
  for (const auto& [name, generator] : generators(group)) {
    std::vector<torch::Tensor> mine{state_of(generator).to(group.device())};
    std::vector<std::vector<torch::Tensor>> all(1);
    for (int rank = 0; rank < group.size(); ++rank) all[0].push_back(torch::empty_like(mine[0]));
    group.c10d_group()->allgather(all, mine)->wait();
    for (int rank = 0; rank < group.size(); ++rank)
      gathered[key(rank, name)] = all[0][rank].to(torch::kCPU);
  }
  return gathered;
}

void restore_rng_state(const ProcessGroup& group, const States& states) {
  for (auto [name, generator] : generators(group)) {
    const auto found = states.find(key(group.rank(), name));
    if (found == states.end()) continue;
    const std::lock_guard lock{generator.mutex()};
    try {
      generator.set_state(found->second);
    } catch (const c10::Error& e) {
      throw std::runtime_error{"the saved state of a random number generator cannot be used: " +
                               std::string{e.what_without_backtrace()}};
    }
  }
}

}  // namespace ddprun::sdk
