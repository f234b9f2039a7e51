#include "worker_sdk/checkpoint_files/hashed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <stdexcept>

#include "worker_sdk/checkpoint_files/input_file.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

/// How much is written and hashed at a time: little enough that the second-level cache holds it for
/// both, and so much that the system calls cost nothing beside it.
constexpr std::size_t kChunkBytes = 4 * 1024 * 1024;

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags)
      : path_{path}, fd_{open(path.c_str(), flags | O_CLOEXEC, 0644)} {
    if (fd_ < 0) fail_with_errno((flags & O_CREAT) != 0 ? "create" : "open", path_);
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_with_errno("write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() const {
    if (fsync(fd_) != 0) fail_with_errno("write", path_);
  }

  int fd() const { return fd_; }

 private:
  const fs::path& path_;
  int fd_;
};

/// Calls `visit` with all bytes, at most kChunkBytes at once, for as long as it returns true.
template <typename Visit>
void for_each_chunk(const Pieces& pieces, Visit visit) {
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const auto chunk = piece.first(std::min(piece.size(), kChunkBytes));
      if (!visit(chunk)) return;
      piece = piece.subspan(chunk.size());
    }
  }
}

/// Hashes on another thread, which stops early when the write has failed.
class BackgroundHash {
 public:
  explicit BackgroundHash(const Pieces& pieces)
      : digest_{std::async(std::launch::async, [this, &pieces] {
          Sha256 sha256;
          for_each_chunk(pieces, [&](std::span<const std::byte> chunk) {
            sha256.update(chunk.data(), chunk.size());
            return !given_up_;
          });
          return sha256.hex();
        })} {}
  ~BackgroundHash() { given_up_ = true; }  // the future waits for the thread
  BackgroundHash(const BackgroundHash&) = delete;
  BackgroundHash& operator=(const BackgroundHash&) = delete;

  std::string hex() { return digest_.get(); }

 private:
  std::atomic<bool> given_up_ = false;
  std::future<std::string> digest_;  // last: its thread uses the member above
};

void tell(const StageHook& hook, const std::string& stage) {
  if (hook) hook(stage);
}

}  // namespace

CheckpointFile write_hashed_file(const fs::path& path, const Pieces& pieces, Durability durability,
                                 const StageHook& hook) {
  const std::string name = path.filename().string();
  tell(hook, "before creating " + name);
  const OpenFile file{path, O_WRONLY | O_CREAT | O_EXCL};
  tell(hook, "after creating " + name);
  CheckpointFile record{name, 0, ""};
  BackgroundHash hash{pieces};
  for_each_chunk(pieces, [&](std::span<const std::byte> chunk) {
    file.write(chunk);
    record.bytes += chunk.size();
    tell(hook, "while writing " + name);
    return true;
  });
  tell(hook, "before fsync of " + name);
  if (durability == Durability::kFsync) file.sync();
  tell(hook, "after fsync of " + name);
  record.sha256 = hash.hex();
  return record;
}

std::string sha256_of_file(const fs::path& path) {
  const InputFile file{path};
  std::vector<std::byte> buffer(kChunkBytes);
  Sha256 sha256;
  while (const std::size_t got = file.read(buffer)) sha256.update(buffer.data(), got);
  return sha256.hex();
}

void sync_folder(const fs::path& folder) {
  const OpenFile file{folder, O_RDONLY | O_DIRECTORY};
  if (fsync(file.fd()) != 0) fail_with_errno("make durable the names in", folder);
}

void fail_with_errno(const std::string& action, const fs::path& path) {
  const int number = errno;
  throw std::runtime_error{"cannot " + action + " '" + path.string() +
                           "': " + std::strerror(number)};
}

}  // namespace ddprun::sdk
