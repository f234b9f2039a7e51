#include "worker_sdk/checkpoint_files/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace ddprun::sdk {

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_{std::filesystem::absolute(path)},
      temporary_{path_.parent_path() / ("." + path_.filename().string() + kTemporarySuffix)} {
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("create");
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
