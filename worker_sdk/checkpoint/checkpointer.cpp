#include "ddprun/checkpointer.hpp"

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "ddprun/module_state.hpp"
#include "ddprun/objects.hpp"
#include "ddprun/optimizer_state.hpp"
#include "worker_sdk/checkpoint/checkpoint_writer.hpp"
#include "worker_sdk/checkpoint/rng_state.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNone = -1;
/// The names of parts, in the metadata of optimizer.safetensors, begin with it.
constexpr char kPart[] = "state/";
constexpr char kRankParts[] = "states_of_ranks/";
/// Room for what staging_bytes() cannot foresee: step counts and the states of generators.
constexpr std::size_t kStagingSlackBytes = 4 * 1024 * 1024;

std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

CheckpointManifest make_manifest(const Progress& progress, const WorkerEnv& env) {
  return {.step = progress.step,
          .epoch = progress.epoch,
          .world_size = env.world_size,
          .run_id = env.run_id,
          .attempt = env.restart_count,
          .created_unix_ms = unix_ms(),
          .sampler = progress.sampler,
          .metadata = progress.metadata,
          .files = {}};
}

/// Returns how much memory a save will need when every parameter has been updated once.
std::size_t staging_bytes(const torch::nn::Module& module,
                          const torch::optim::Optimizer& optimizer) {
  std::size_t bytes = expected_state_bytes(optimizer) + kStagingSlackBytes;
  for (const auto& [name, tensor] : state_dict(module)) bytes += tensor.nbytes();
  return bytes;
}

std::string state_of_rank(const std::string& states, const std::string& name,
                          const ProcessGroup& group) {
  const auto of_ranks = nlohmann::json::parse(states, nullptr, /*allow_exceptions=*/false);
  if (!of_ranks.is_array() || of_ranks.size() != static_cast<std::size_t>(group.size()))
    throw std::invalid_argument{"the checkpoint has the state of '" + name + "' for " +
                                std::to_string(of_ranks.size()) + " ranks, and there are " +
                                std::to_string(group.size()) + " now"};
  const auto& own = of_ranks[static_cast<std::size_t>(group.rank())];
  if (!own.is_string())
    throw std::invalid_argument{"the checkpoint has a state of '" + name + "' that is no text"};
  return own;
}

}  // namespace

Checkpointer::Checkpointer(fs::path folder, const ProcessGroup& group,
                           const CheckpointerOptions& options)
    : folder_{std::move(folder)}, group_{group} {
  fs::create_directories(folder_);
  if (group_.rank() == 0)
    writer_ = std::make_unique<CheckpointWriter>(folder_, group_.env(), options);
}

Checkpointer::~Checkpointer() {
  try {
    wait();
  } catch (const std::exception& e) {
    std::cerr << "warning: the last checkpoint was not saved: " << e.what() << std::endl;
  }
}

void Checkpointer::keep(const std::string& name, Stateful& part) {
  if (!parts_.emplace(name, &part).second)
    throw std::invalid_argument{"checkpoints hold a part '" + name + "' already"};
}

void Checkpointer::keep_of_each_rank(const std::string& name, Stateful& part) {
  if (!parts_of_ranks_.emplace(name, &part).second)
    throw std::invalid_argument{"checkpoints hold a part '" + name + "' of each rank already"};
}

void Checkpointer::save(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer,
                        const Progress& progress) {
  SafeTensors of_optimizer;
  if (group_.rank() == 0)
    of_optimizer = {optimizer_state(optimizer), {{kParamGroups, optimizer_options(optimizer)}}};
  save(state_dict(module), of_optimizer, progress);
}

void Checkpointer::save(const std::map<std::string, torch::Tensor>& model,
                        const SafeTensors& optimizer, const Progress& progress) {
  wait();  // first, so that an error of the save before shows before this one begins
  const auto generators = gather_rng_states(group_);
  std::map<std::string, std::string> of_ranks;
  for (const auto& [name, part] : parts_of_ranks_)
    of_ranks[kRankParts + name] = nlohmann::json(gather_object(group_, part->save_state())).dump();
  if (!writer_) return;
  CheckpointSnapshot snapshot;
  snapshot.add(kModelFile, {model, {{"format", "pt"}}});
  SafeTensors with_parts = optimizer;
  with_parts.metadata.insert(of_ranks.begin(), of_ranks.end());
  for (const auto& [name, part] : parts_) with_parts.metadata[kPart + name] = part->save_state();
  snapshot.add(kOptimizerFile, with_parts);
  snapshot.add(kRngFile, {generators, {}});
  writer_->write(make_manifest(progress, group_.env()), std::move(snapshot));
}

void Checkpointer::wait() {
  if (writer_) writer_->wait();
}

std::optional<Progress> Checkpointer::load_latest(torch::nn::Module& module,
                                                  torch::optim::Optimizer& optimizer) {
  wait();
  const std::int64_t chosen = writer_ ? writer_->newest_complete().value_or(kNone) : kNone;
  torch::Tensor step = torch::full({1}, chosen, torch::kInt64).to(group_.device());
  group_.broadcast(step);
  std::optional<Progress> progress;
  if (step.item<std::int64_t>() != kNone)
    progress = load(step.item<std::int64_t>(), module, optimizer);
  if (writer_) writer_->prepare(staging_bytes(module, optimizer), group_.device().is_cuda());
  return progress;
}

void Checkpointer::load_parts(const std::map<std::string, std::string>& saved) {
  const auto find = [&](const std::string& key, const std::string& name) {
    const auto found = saved.find(key);
    if (found == saved.end())
      throw std::runtime_error{"the checkpoint has no state of '" + name +
                               "'; load it before Checkpointer::keep() is called for that"};
    return found->second;
  };
  for (const auto& [name, part] : parts_) part->restore_state(find(kPart + name, name));
  for (const auto& [name, part] : parts_of_ranks_)
    part->restore_state(state_of_rank(find(kRankParts + name, name), name, group_));
}

Progress Checkpointer::load(std::int64_t step, torch::nn::Module& module,
                            torch::optim::Optimizer& optimizer) {
  const fs::path path = path_of(step);
  const auto entry = inspect_checkpoint(path);
  if (entry.state != CheckpointState::kComplete)
    throw std::runtime_error{"rank 0 has chosen the checkpoint '" + path.string() +
                             "', which is not complete here: " + entry.reason +
                             "; do all nodes see the same folder?"};
  for (const char* name : {kModelFile, kOptimizerFile, kRngFile})
    if (!lists(*entry.manifest, name))
      throw std::runtime_error{"the manifest of the checkpoint '" + path.string() +
                               "' does not list " + name};
  load_state_dict(module, load_safetensors(path / kModelFile).tensors);
  const SafeTensors saved = load_safetensors(path / kOptimizerFile);
  restore_optimizer_state(optimizer, saved.tensors);
  if (const auto options = saved.metadata.find(kParamGroups); options != saved.metadata.end())
    restore_optimizer_options(optimizer, options->second);
  load_parts(saved.metadata);
  restore_rng_state(group_, load_safetensors(path / kRngFile).tensors);
  return {step, entry.manifest->epoch, entry.manifest->sampler, entry.manifest->metadata};
}

fs::path Checkpointer::path_of(std::int64_t step) const { return folder_ / checkpoint_name(step); }

}  // namespace ddprun::sdk
