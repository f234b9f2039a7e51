// optimizer_options() and restore_optimizer_options() of optimizer_state.hpp. An optimizer's
// options go in and out as JSON, under the names that Python's Optimizer.state_dict() gives them.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "ddprun/fused_step.hpp"
#include "ddprun/optimizer_state.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;
using torch::optim::AdagradOptions;
using torch::optim::AdamOptions;
using torch::optim::AdamWOptions;
using torch::optim::OptimizerOptions;
using torch::optim::RMSpropOptions;
using torch::optim::SGDOptions;

json to_json(const SGDOptions& options) {
  return {{"lr", options.lr()},
          {"momentum", options.momentum()},
          {"dampening", options.dampening()},
          {"weight_decay", options.weight_decay()},
          {"nesterov", options.nesterov()}};
}

SGDOptions sgd_from(const json& in) {
  return SGDOptions{in.at("lr").get<double>()}
      .momentum(in.at("momentum"))
      .dampening(in.at("dampening"))
      .weight_decay(in.at("weight_decay"))
      .nesterov(in.at("nesterov"));
}

json to_json(const RMSpropOptions& options) {
  return {{"lr", options.lr()},
          {"alpha", options.alpha()},
          {"eps", options.eps()},
          {"weight_decay", options.weight_decay()},
          {"momentum", options.momentum()},
          {"centered", options.centered()}};
}

RMSpropOptions rmsprop_from(const json& in) {
  return RMSpropOptions{in.at("lr").get<double>()}
      .alpha(in.at("alpha"))
      .eps(in.at("eps"))
      .weight_decay(in.at("weight_decay"))
      .momentum(in.at("momentum"))
      .centered(in.at("centered"));
}

json to_json(const AdagradOptions& options) {
  return {{"lr", options.lr()},
          {"lr_decay", options.lr_decay()},
          {"weight_decay", options.weight_decay()},
          {"initial_accumulator_value", options.initial_accumulator_value()},
          {"eps", options.eps()}};
}

AdagradOptions adagrad_from(const json& in) {
  return AdagradOptions{in.at("lr").get<double>()}
      .lr_decay(in.at("lr_decay"))
      .weight_decay(in.at("weight_decay"))
      .initial_accumulator_value(in.at("initial_accumulator_value"))
      .eps(in.at("eps"));
}

template <typename AnyAdamOptions>
json adam_to_json(const AnyAdamOptions& options) {
  return {{"lr", options.lr()},
          {"betas", {std::get<0>(options.betas()), std::get<1>(options.betas())}},
          {"eps", options.eps()},
          {"weight_decay", options.weight_decay()},
          {"amsgrad", options.amsgrad()}};
}

template <typename AnyAdamOptions>
AnyAdamOptions adam_from(const json& in) {
  return AnyAdamOptions{in.at("lr").get<double>()}
      .betas({in.at("betas").at(0), in.at("betas").at(1)})
      .eps(in.at("eps"))
      .weight_decay(in.at("weight_decay"))
      .amsgrad(in.at("amsgrad"));
}

json options_of(const OptimizerOptions& options) {
  if (const auto* sgd = dynamic_cast<const SGDOptions*>(&options)) return to_json(*sgd);
  if (const auto* adam = dynamic_cast<const AdamOptions*>(&options)) return adam_to_json(*adam);
  if (const auto* adamw = dynamic_cast<const AdamWOptions*>(&options)) return adam_to_json(*adamw);
  if (const auto* rms = dynamic_cast<const RMSpropOptions*>(&options)) return to_json(*rms);
  if (const auto* ada = dynamic_cast<const AdagradOptions*>(&options)) return to_json(*ada);
  throw std::invalid_argument{
      "checkpoints hold the state of SGD, Adam, AdamW, RMSprop and Adagrad only"};
}

/// Returns options of the same kind as `present`, with the saved values.
std::unique_ptr<OptimizerOptions> options_from(const json& in, const OptimizerOptions& present) {
  if (dynamic_cast<const SGDOptions*>(&present)) return std::make_unique<SGDOptions>(sgd_from(in));
  if (dynamic_cast<const AdamOptions*>(&present))
    return std::make_unique<AdamOptions>(adam_from<AdamOptions>(in));
  if (dynamic_cast<const RMSpropOptions*>(&present))
    return std::make_unique<RMSpropOptions>(rmsprop_from(in));
  if (dynamic_cast<const AdagradOptions*>(&present))
    return std::make_unique<AdagradOptions>(adagrad_from(in));
  return std::make_unique<AdamWOptions>(adam_from<AdamWOptions>(in));
}

[[noreturn]] void refuse_options(const std::string& why) {
  throw std::invalid_argument{"the saved options are of another optimizer: " + why};
}

}  // namespace

std::string optimizer_options(const torch::optim::Optimizer& optimizer) {
  json groups = json::array();
  std::size_t number = 0;
  for (const auto& group : optimizer.param_groups()) {
    groups.push_back(options_of(group.options()));
    // Python, which takes all options from the checkpoint, would go on with its slower kernels
    // else.
    if (dynamic_cast<const FusedStep*>(&optimizer)) groups.back()["fused"] = true;
    groups.back()["params"] = json::array();
    for (std::size_t i = 0; i < group.params().size(); ++i)
      groups.back()["params"].push_back(number++);
  }
  return groups.dump();
}

void restore_optimizer_options(torch::optim::Optimizer& optimizer, const std::string& options) try {
  const json saved = json::parse(options);
  const json present = json::parse(optimizer_options(optimizer));
  if (saved.size() != present.size())
    refuse_options("it has " + std::to_string(saved.size()) +
                   " groups of parameters, this one has " + std::to_string(present.size()));
  std::vector<std::unique_ptr<OptimizerOptions>> restored;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].at("params") != present[i].at("params"))
      refuse_options("its group " + std::to_string(i) + " has other parameters");
    restored.push_back(options_from(saved[i], optimizer.param_groups()[i].options()));
  }
  for (std::size_t i = 0; i < restored.size(); ++i)
    optimizer.param_groups()[i].set_options(std::move(restored[i]));
} catch (const json::exception& e) {
  refuse_options(e.what());
}

}  // namespace ddprun::sdk
