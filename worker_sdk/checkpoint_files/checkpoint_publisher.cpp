#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <span>
#include <stdexcept>
#include <utility>

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kExchange = 1U << 1;  // RENAME_EXCHANGE: glibc has it, and the call, since 2.28

/// Removes the folder at `path` when the scope ends: a checkpoint that could not be finished, or
/// one that a new one has replaced.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_{std::move(path)} {}
  ~TemporaryFolder() {
    std::error_code ignored;  // the next attempt removes what cannot be removed now
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  fs::path path_;
};

void move(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) fail_with_errno("rename", from);
}

/// Swaps the two names at one stroke. Returns false where the file system cannot do that.
bool exchange(const fs::path& a, const fs::path& b) {
  if (syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), kExchange) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) fail_with_errno("rename", a);
  return false;
}

}  // namespace

CheckpointPublisher::CheckpointPublisher(fs::path folder, CheckpointFence fence,
                                         PublisherOptions options)
    : folder_{std::move(folder)}, fence_{std::move(fence)}, options_{std::move(options)} {
  if (options_.retention.keep < 1)
    throw std::invalid_argument{"Checkpointer: keep is " + std::to_string(options_.retention.keep) +
                                ", expected 1 or more"};
  if (options_.retention.keep_every < 0)
    throw std::invalid_argument{"Checkpointer: keep_every is " +
                                std::to_string(options_.retention.keep_every) +
                                ", expected 0 (none) or more"};
}

void CheckpointPublisher::publish(CheckpointManifest manifest,
                                  const std::vector<FileToWrite>& files) {
  if (manifest.step < 0)
    throw std::invalid_argument{"Checkpointer: step " + std::to_string(manifest.step) +
                                ", expected 0 or more"};
  const fs::path unfinished = folder_ / unfinished_name(manifest.step, fence_.token());
  const TemporaryFolder temporary{unfinished};
  write(unfinished, manifest, files);
  const auto entered = fence_.enter();
  tell("before the rename");
  give_name(unfinished, folder_ / checkpoint_name(manifest.step));
  tell("after the rename");
  if (options_.durability == Durability::kFsync) sync_folder(folder_);
  tell("after fsync of the folder");
  damaged_.erase(manifest.step);
  remove_outdated();
}

void CheckpointPublisher::write(const fs::path& unfinished, CheckpointManifest& manifest,
                                const std::vector<FileToWrite>& files) const {
  tell("before making the folder");
  std::error_code error;
  if (!fs::create_directory(unfinished, error) && error)
    throw std::runtime_error{"cannot create '" + unfinished.string() + "': " + error.message()};
  tell("after making the folder");
  // All files at once: the kernel lets only one thread at a time write to a file.
  const auto hook = [this](const std::string& stage) { tell(stage); };
  std::vector<std::future<CheckpointFile>> writing;
  writing.reserve(files.size());
  for (const FileToWrite& file : files)
    writing.push_back(std::async(std::launch::async, [&] {
      return write_hashed_file(unfinished / file.name, file.pieces, options_.durability, hook);
    }));
  manifest.files.clear();
  for (auto& one : writing) manifest.files.push_back(one.get());
  const std::string text = encode(manifest);
  write_hashed_file(unfinished / kManifestFile, {std::as_bytes(std::span{text})},
                    options_.durability, hook);
  if (options_.durability == Durability::kFsync) sync_folder(unfinished);
  tell("after fsync of the unfinished folder");
}

void CheckpointPublisher::give_name(const fs::path& unfinished, const fs::path& final_path) {
  // After the exchange the temporary name belongs to the checkpoint that was replaced, and
  // write()'s caller removes it.
  if (!fs::exists(final_path)) return move(unfinished, final_path);
  if (exchange(unfinished, final_path)) return;
  const TemporaryFolder replaced{unfinished.string() + "-replaced.tmp"};
  move(final_path, unfinished.string() + "-replaced.tmp");
  move(unfinished, final_path);
}

/// Renames each of them before it is removed, so that no reader sees half of a checkpoint.
void CheckpointPublisher::remove_outdated() const {
  auto all = list_checkpoints(folder_);
  for (CheckpointEntry& entry : all)
    if (damaged_.contains(entry.step)) entry.state = CheckpointState::kDamaged;
  for (const CheckpointEntry& entry : outdated(all, options_.retention)) {
    const TemporaryFolder going{folder_ / unfinished_name(entry.step, fence_.token())};
    tell("before hiding an outdated one");
    move(entry.path, folder_ / unfinished_name(entry.step, fence_.token()));
    tell("after hiding an outdated one");
  }
  tell("after removing outdated ones");
}

void CheckpointPublisher::remove_unfinished() const {
  const auto entered = fence_.enter();
  for (const CheckpointEntry& entry : list_unfinished(folder_))
    if (entry.path.filename() != unfinished_name(entry.step, fence_.token()))
      fs::remove_all(entry.path);
}

void CheckpointPublisher::tell(const std::string& stage) const {
  if (!options_.hook) return;
  const std::lock_guard one_at_a_time{*hook_mutex_};
  options_.hook(stage);
}

}  // namespace ddprun::sdk
