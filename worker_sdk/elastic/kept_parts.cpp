#include "worker_sdk/elastic/kept_parts.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "ddprun/module_state.hpp"
#include "ddprun/optimizer_state.hpp"

namespace ddprun::sdk {

namespace {

/// The text of a part that has one alone.
const std::string& text_of(const SafeTensors& state, const std::string& name) {
  const auto found = state.metadata.find(name);
  if (found == state.metadata.end())
    throw std::invalid_argument{"the state has no text '" + name + "'"};
  return found->second;
}

/// What `all` has under "PREFIX/...", under the names behind that.
template <typename Value>
std::map<std::string, Value> behind(const std::map<std::string, Value>& all,
                                    const std::string& prefix) {
  std::map<std::string, Value> found;
  for (auto one = all.lower_bound(prefix); one != all.end() && one->first.starts_with(prefix);
       ++one)
    found.emplace(one->first.substr(prefix.size()), one->second);
  return found;
}

}  // namespace

void KeptParts::add(const std::string& name, torch::nn::Module& module) {
  add({name, "module",
       [&module] {
         return SafeTensors{state_dict(module), {}};
       },
       [&module](const SafeTensors& state) { load_state_dict(module, state.tensors); }, &module});
  modules_.push_back(&module);
}

void KeptParts::add(const std::string& name, torch::optim::Optimizer& optimizer) {
  add({name, "optimizer",
       [&optimizer] {
         return SafeTensors{optimizer_state(optimizer),
                            {{kParamGroups, optimizer_options(optimizer)}}};
       },
       [&optimizer](const SafeTensors& state) {
         restore_optimizer_state(optimizer, state.tensors);
         restore_optimizer_options(optimizer, text_of(state, kParamGroups));
       }});
}

void KeptParts::add(const std::string& name, Stateful& part) {
  auto* const batches = dynamic_cast<ElasticBatches*>(&part);
  if (batches != nullptr && batches_ != nullptr)
    throw std::invalid_argument{"ElasticRun: '" + name +
                                "' is a second loader: a run has one place in its data"};
  add({name, "text",
       [&part] {
         return SafeTensors{{}, {{"state", part.save_state()}}};
       },
       [&part](const SafeTensors& state) { part.restore_state(text_of(state, "state")); }});
  if (batches != nullptr) batches_ = batches;
}

void KeptParts::add(Part part) {
  if (part.name.empty() || part.name.find('/') != std::string::npos)
    throw std::invalid_argument{"ElasticRun: '" + part.name +
                                "' is no name of a part: expected some letters without a slash"};
  if (std::ranges::find(parts_, part.name, &Part::name) != parts_.end())
    throw std::invalid_argument{"ElasticRun: '" + part.name +
                                "' is the name of another part of the state"};
  parts_.push_back(std::move(part));
}

/// A program in Python keeps parts in another form, and must not be taken for one of these.
std::vector<std::string> KeptParts::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) names.push_back(part.name + " (C++ " + part.kind + ")");
  return names;
}

SafeTensors KeptParts::state() const {
  SafeTensors all;
  for (const Part& part : parts_) {
    SafeTensors state = part.state();
    for (auto& [name, tensor] : state.tensors) all.tensors[part.name + "/" + name] = tensor;
    for (auto& [name, text] : state.metadata) all.metadata[part.name + "/" + name] = text;
  }
  return all;
}

SafeTensors KeptParts::state_without_buffers() const {
  SafeTensors all = state();
  for (const Part& part : parts_) {
    if (part.module == nullptr) continue;
    for (const auto& buffer : part.module->named_buffers())
      all.tensors.erase(part.name + "/" + buffer.key());
  }
  return all;
}

void KeptParts::restore(const SafeTensors& state) {
  for (const Part& part : parts_) {
    const std::string prefix = part.name + "/";
    try {
      part.restore({behind(state.tensors, prefix), behind(state.metadata, prefix)});
    } catch (const std::exception& e) {
      throw std::invalid_argument{"the state does not fit the part '" + part.name +
                                  "' of this run: " + e.what()};
    }
  }
}

}  // namespace ddprun::sdk
