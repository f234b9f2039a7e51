// KeptParts: the parts of a training's state, as tensors and texts with names.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "ddprun/elastic_batches.hpp"
#include "ddprun/safetensors.hpp"
#include "ddprun/stateful.hpp"

namespace ddprun::sdk {

/// Refers to what a program has given it; that must outlive this.
class KeptParts {
 public:
  /// Errors of all three: std::invalid_argument for a name that is taken or empty, or has a slash
  /// in it, and for a second ElasticBatches.
  void add(const std::string& name, torch::nn::Module& module);
  void add(const std::string& name, torch::optim::Optimizer& optimizer);
  void add(const std::string& name, Stateful& part);

  /// The names of all parts, in their order, each with its kind: for comparison with other members.
  std::vector<std::string> names() const;

  /// The tensors of a part are under "NAME/...", its text under "NAME". They are the parts' own,
  /// not copies. Errors: std::invalid_argument for an optimizer that optimizer_state() does not
  /// know.
  SafeTensors state() const;
  /// Does so without the buffers of modules: running means are each rank's own, until DDP sends
  /// those of rank 0.
  SafeTensors state_without_buffers() const;
  /// Goes on from what state() has returned. Errors: std::invalid_argument or std::runtime_error
  /// where it does not fit a part, and names the part.
  void restore(const SafeTensors& state);

  const std::vector<torch::nn::Module*>& modules() const { return modules_; }
  /// nullptr where no part is one.
  ElasticBatches* batches() const { return batches_; }

 private:
  struct Part {
    std::string name;
    std::string kind;
    std::function<SafeTensors()> state;
    std::function<void(const SafeTensors&)> restore;
    const torch::nn::Module* module = nullptr;  // nullptr where it is none
  };
  void add(Part part);

  std::vector<Part> parts_;
  std::vector<torch::nn::Module*> modules_;
  ElasticBatches* batches_ = nullptr;
};

}  // namespace ddprun::sdk
