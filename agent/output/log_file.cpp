#include "agent/output/log_file.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ddprun {

Result<LogFile> LogFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    return Error{Error::Kind::kUnavailable,
                 "cannot open the log file '" + path.string() + "': " + std::strerror(errno)};
  return LogFile{path, fd};
}

LogFile::LogFile(LogFile&& other) noexcept
    : path_{std::move(other.path_)}, fd_{std::exchange(other.fd_, -1)}, failed_{other.failed_} {}

LogFile::~LogFile() {
  if (fd_ >= 0) ::close(fd_);
}

void LogFile::write(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      failed_ = true;
      spdlog::error("cannot write to the log file '{}': {}; the rest is missing there",
                    path_.string(), std::strerror(errno));
    }
  }
}

int LogFile::release() { return std::exchange(fd_, -1); }

}  // namespace ddprun
