#include "ddprun/module_state.hpp"

#include <stdexcept>

namespace ddprun::sdk {

namespace {

using State = std::map<std::string, torch::Tensor>;

void check_fits(const State& module, const State& state) {
  for (const auto& [name, tensor] : module) {
    const auto found = state.find(name);
    if (found == state.end())
      throw std::runtime_error{"the saved state has no tensor '" + name + "', which the model has"};
    if (found->second.sizes() != tensor.sizes())
      throw std::runtime_error{"tensor '" + name + "' has the shape " +
                               c10::str(found->second.sizes()) + " in the saved state, " +
                               c10::str(tensor.sizes()) + " in the model"};
  }
  for (const auto& [name, tensor] : state)
    if (!module.contains(name))
      throw std::runtime_error{"the saved state has a tensor '" + name +
                               "', which the model lacks"};
}

}  // namespace

State state_dict(const torch::nn::Module& module) {
  State state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value();
  return state;
}

void load_state_dict(torch::nn::Module& module, const State& state) {
  State own = state_dict(module);
  check_fits(own, state);
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : own) tensor.copy_(state.at(name));
}

}  // namespace ddprun::sdk
