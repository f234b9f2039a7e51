#include "worker_sdk/checkpointer.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "worker_sdk/atomic_file.hpp"
#include "worker_sdk/optimizer_state.hpp"
#include "worker_sdk/safetensors.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kOptimizerPrefix = "optimizer/";
constexpr char kStep[] = "step";
constexpr std::int64_t kNone = -1;

std::optional<std::int64_t> parse_step(const std::string& file_name) {
  std::string_view name = file_name;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return step;
}

/// Parameters and buffers, by the names of state_dict().
std::map<std::string, torch::Tensor> module_state(const torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value();
  return state;
}

void copy_into(std::map<std::string, torch::Tensor> module,
               const std::map<std::string, torch::Tensor>& saved) {
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : module) {
    const auto found = saved.find(name);
    if (found == saved.end())
      throw std::runtime_error{"the checkpoint has no tensor '" + name + "', which the model has"};
    if (found->second.sizes() != tensor.sizes())
      throw std::runtime_error{"tensor '" + name + "' has the shape " +
                               c10::str(found->second.sizes()) + " in the checkpoint, " +
                               c10::str(tensor.sizes()) + " in the model"};
    tensor.copy_(found->second);
  }
  if (saved.size() != module.size())
    throw std::runtime_error{"the checkpoint has tensors that the model lacks"};
}

}  // namespace

Checkpointer::Checkpointer(fs::path folder, const ProcessGroup& group, int keep)
    : folder_{std::move(folder)}, group_{group}, keep_{keep} {
  if (keep < 1) throw std::invalid_argument{"Checkpointer: keep at least one checkpoint"};
  fs::create_directories(folder_);
  if (group_.rank() == 0) remove_unfinished();
}

void Checkpointer::save(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
                        const Progress& progress) {
  if (group_.rank() != 0) return;
  SafeTensors contents{module_state(module), progress.metadata};
  for (const auto& [name, tensor] : optimizer_state(optimizer))
    contents.tensors[std::string{kOptimizerPrefix} + name] = tensor;
  contents.metadata[kStep] = std::to_string(progress.step);
  save_safetensors(path_of(progress.step), contents);
  remove_old();
}

std::optional<Progress> Checkpointer::load_latest(torch::nn::Module& module,
                                                  torch::optim::Optimizer& optimizer) {
  const std::int64_t chosen = group_.rank() == 0 ? newest_complete() : kNone;
  torch::Tensor step = torch::full({1}, chosen, torch::kInt64).to(group_.device());
  group_.broadcast(step);
  if (step.item<std::int64_t>() == kNone) return std::nullopt;

  SafeTensors contents = load_safetensors(path_of(step.item<std::int64_t>()));
  std::map<std::string, torch::Tensor> optimizer_part;
  for (auto it = contents.tensors.begin(); it != contents.tensors.end();) {
    if (!it->first.starts_with(kOptimizerPrefix)) {
      ++it;
      continue;
    }
    optimizer_part[it->first.substr(kOptimizerPrefix.size())] = it->second;
    it = contents.tensors.erase(it);
  }
  copy_into(module_state(module), contents.tensors);
  restore_optimizer_state(optimizer, optimizer_part);
  contents.metadata.erase(kStep);
  return Progress{step.item<std::int64_t>(), std::move(contents.metadata)};
}

fs::path Checkpointer::path_of(std::int64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, 12 - std::min<std::size_t>(digits.size(), 12), '0');
  return folder_ / (std::string{kPrefix} + digits + std::string{kSuffix});
}

/// Newest first.
std::vector<std::int64_t> Checkpointer::steps() const {
  std::vector<std::int64_t> found;
  for (const auto& entry : fs::directory_iterator{folder_})
    if (const auto step = parse_step(entry.path().filename().string())) found.push_back(*step);
  std::ranges::sort(found, std::greater{});
  return found;
}

std::int64_t Checkpointer::newest_complete() const {
  for (const std::int64_t step : steps()) {
    try {
      load_safetensors(path_of(step));
      return step;
    } catch (const std::runtime_error& e) {
      std::cerr << "warning: passing over a damaged checkpoint: " << e.what() << std::endl;
    }
  }
  return kNone;
}

void Checkpointer::remove_old() const {
  const auto all = steps();
  for (std::size_t i = static_cast<std::size_t>(keep_); i < all.size(); ++i)
    fs::remove(path_of(all[i]));
}

/// What a worker that was killed while it wrote has left.
void Checkpointer::remove_unfinished() const {
  for (const auto& entry : fs::directory_iterator{folder_}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("." + std::string{kPrefix}) &&
        name.ends_with(AtomicFile::kTemporarySuffix))
      fs::remove(entry.path());
  }
}

}  // namespace ddprun::sdk
