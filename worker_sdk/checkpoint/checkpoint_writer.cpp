#include "worker_sdk/checkpoint/checkpoint_writer.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <iostream>
#include <utility>

namespace ddprun::sdk {

CheckpointWriter::CheckpointWriter(const std::filesystem::path& folder, const WorkerEnv& env,
                                   const CheckpointerOptions& options)
    : folder_{folder},
      asynchronous_{options.asynchronous},
      publisher_{folder, CheckpointFence::claim(folder, env),
                 PublisherOptions{.retention = {options.keep, options.keep_every},
                                  .durability = options.durability,
                                  .hook = {}}} {
  publisher_.remove_unfinished();
}

void CheckpointWriter::write(CheckpointManifest manifest, CheckpointSnapshot snapshot) {
  wait();
  if (!asynchronous_) return publisher_.publish(std::move(manifest), snapshot.files());
  snapshot.copy_to(staging_);
  pending_ = std::async(std::launch::async, [this, manifest = std::move(manifest),
                                             taken = std::move(snapshot)]() mutable {
    publisher_.publish(std::move(manifest), taken.files());
  });
}

void CheckpointWriter::prepare(std::size_t bytes, bool pinned) {
  if (!asynchronous_) return;
  wait();
  // A thread begins with the first GPU, which may be another worker's.
  const auto device =
      pinned ? std::optional{c10::impl::VirtualGuardImpl{torch::kCUDA}.getDevice()} : std::nullopt;
  pending_ = std::async(std::launch::async, [this, bytes, pinned, device] {
    if (device) c10::impl::VirtualGuardImpl{device->type()}.setDevice(*device);
    staging_.reserve(bytes, pinned);
  });
}

void CheckpointWriter::wait() {
  if (pending_.valid()) pending_.get();
}

std::optional<std::int64_t> CheckpointWriter::newest_complete() {
  for (const CheckpointEntry& found : list_checkpoints(folder_)) {
    const CheckpointEntry entry = verify_checkpoint(found.path);
    if (entry.state == CheckpointState::kComplete) return entry.step;
    std::cerr << "warning: passing over the " << to_string(entry.state) << " checkpoint '"
              << entry.path.string() << "': " << entry.reason << std::endl;
    publisher_.distrust(entry.step);
  }
  return std::nullopt;
}

}  // namespace ddprun::sdk
