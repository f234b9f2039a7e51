#include "worker_sdk/checkpoint_files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRandomDigits = 16;
constexpr int kTries = 16;

/// Returns what temporary names of the file begin with.
std::string temporary_prefix(const fs::path& path) { return "." + path.filename().string() + "."; }

std::string random_digits() {
  std::random_device entropy;
  std::string digits;
  while (digits.size() < kRandomDigits) digits += "0123456789abcdef"[entropy() % 16];
  return digits;
}

bool is_temporary(const std::string& name, const std::string& prefix) {
  return name.size() == prefix.size() + kRandomDigits + sizeof(AtomicFile::kTemporarySuffix) - 1 &&
         name.starts_with(prefix) && name.ends_with(AtomicFile::kTemporarySuffix);
}

/// Removes the file unless somebody holds its lock, or it is no file at all.
void remove_left(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
    unlink(path.c_str());
  close(fd);
}

void remove_all_left(const fs::path& folder, const std::string& prefix) {
  std::error_code unreadable;  // then creating a file there says why
  for (const auto& entry : fs::directory_iterator{folder, unreadable})
    if (is_temporary(entry.path().filename().string(), prefix)) remove_left(entry.path());
}

/// Locks a new file. Returns false when somebody has taken it for one that was left, between its
/// creation and its lock. Where files have no locks, none is removed.
bool keep(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_{fs::absolute(path)} {
  remove_all_left(path_.parent_path(), temporary_prefix(path_));
  create_temporary();
}

void AtomicFile::create_temporary() {
  for (int i = 0; i < kTries; ++i) {
    temporary_ = path_.parent_path() /
                 (temporary_prefix(path_) + random_digits() + std::string{kTemporarySuffix});
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd_ < 0 && errno != EEXIST) fail("create");
    if (fd_ < 0) continue;
    if (keep(fd_)) return;
    close(std::exchange(fd_, -1));
  }
  errno = EEXIST;
  fail("create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t size) {
  const auto* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(fd_, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail("write");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  close(std::exchange(fd_, -1));
  const int folder = open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && fsync(folder) == 0;
  if (folder >= 0) close(folder);
  if (!synced) fail("make durable the name of");
}

void AtomicFile::fail(const std::string& action) const {
  throw std::runtime_error{"cannot " + action + " '" + path_.string() +
                           "': " + std::strerror(errno)};
}

}  // namespace ddprun::sdk
