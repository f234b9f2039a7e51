#include "worker_sdk/checkpointer.hpp"

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "worker_sdk/module_state.hpp"
#include "worker_sdk/optimizer_state.hpp"
#include "worker_sdk/rng_state.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNone = -1;
/// Beside the tensors that prepare_staging() can foresee: step counts, generators' states.
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

}  // namespace

Checkpointer::Checkpointer(fs::path folder, const ProcessGroup& group, CheckpointerOptions options)
    : folder_{std::move(folder)}, group_{group}, options_{std::move(options)} {
  fs::create_directories(folder_);
  if (group_.rank() != 0) return;
  publisher_.emplace(folder_, CheckpointFence::claim(folder_, group_.env()),
                     PublisherOptions{.retention = {options_.keep, options_.keep_every},
                                      .durability = options_.durability,
                                      .hook = options_.hook});
  publisher_->remove_unfinished();
}

Checkpointer::~Checkpointer() {
  try {
    wait();
  } catch (const std::exception& e) {
    std::cerr << "warning: the last checkpoint was not saved: " << e.what() << std::endl;
  }
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
  wait();
  const auto generators = gather_rng_states(group_);
  if (!publisher_) return;
  CheckpointSnapshot snapshot;
  snapshot.add(kModelFile, {model, {{"format", "pt"}}});
  snapshot.add(kOptimizerFile, optimizer);
  snapshot.add(kRngFile, {generators, {}});
  CheckpointManifest manifest = make_manifest(progress, group_.env());
  if (!options_.asynchronous) return publisher_->publish(std::move(manifest), snapshot.files());
  snapshot.copy_to(staging_);
  pending_ = std::async(std::launch::async, [this, manifest = std::move(manifest),
                                             taken = std::move(snapshot)]() mutable {
    publisher_->publish(std::move(manifest), taken.files());
  });
}

void Checkpointer::wait() {
  if (pending_.valid()) pending_.get();
}

std::optional<Progress> Checkpointer::load_latest(torch::nn::Module& module,
                                                  torch::optim::Optimizer& optimizer) {
  wait();
  const std::int64_t chosen = publisher_ ? newest_complete() : kNone;
  torch::Tensor step = torch::full({1}, chosen, torch::kInt64).to(group_.device());
  group_.broadcast(step);
  std::optional<Progress> progress;
  if (step.item<std::int64_t>() != kNone)
    progress = load(step.item<std::int64_t>(), module, optimizer);
  prepare_staging(module, optimizer);
  return progress;
}

Progress Checkpointer::load(std::int64_t step, torch::nn::Module& module,
                            torch::optim::Optimizer& optimizer) {
  const fs::path path = path_of(step);
  const auto entry = inspect_checkpoint(path);
  if (entry.state != CheckpointState::kComplete)
    throw std::runtime_error{"rank 0 has chosen the checkpoint '" + path.string() +
                             "', which is not complete here: " + entry.reason +
                             "; do all nodes see the same folder?"};
  load_state_dict(module, load_safetensors(path / kModelFile).tensors);
  const SafeTensors saved = load_safetensors(path / kOptimizerFile);
  restore_optimizer_state(optimizer, saved.tensors);
  if (const auto options = saved.metadata.find(kParamGroups); options != saved.metadata.end())
    restore_optimizer_options(optimizer, options->second);
  restore_rng_state(group_, load_safetensors(path / kRngFile).tensors);
  return {step, entry.manifest->epoch, entry.manifest->sampler, entry.manifest->metadata};
}

fs::path Checkpointer::path_of(std::int64_t step) const { return folder_ / checkpoint_name(step); }

std::int64_t Checkpointer::newest_complete() {
  for (const CheckpointEntry& found : list_checkpoints(folder_)) {
    const CheckpointEntry entry = verify_checkpoint(found.path);
    if (entry.state == CheckpointState::kComplete) return entry.step;
    std::cerr << "warning: passing over the " << to_string(entry.state) << " checkpoint '"
              << entry.path.string() << "': " << entry.reason << std::endl;
    publisher_->distrust(entry.step);
  }
  return kNone;
}

/// The first save is as fast as the others when its memory is there already.
void Checkpointer::prepare_staging(const torch::nn::Module& module,
                                   const torch::optim::Optimizer& optimizer) {
  if (!publisher_ || !options_.asynchronous) return;
  std::size_t bytes = expected_state_bytes(optimizer) + kStagingSlackBytes;
  for (const auto& [name, tensor] : state_dict(module)) bytes += tensor.nbytes();
  const bool pinned = group_.device().is_cuda();
  pending_ =
      std::async(std::launch::async, [this, bytes, pinned] { staging_.reserve(bytes, pinned); });
}

}  // namespace ddprun::sdk
