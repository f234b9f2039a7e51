#include "agent/output/log_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "base/log.hpp"

namespace ddprun {

namespace {

int open_log(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/// 0 for what has no size, as a pipe.
std::uint64_t size_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size)
                                                       : 0;
}

}  // namespace

Result<LogFile> LogFile::open(const std::filesystem::path& path, RotationRule rotation, Tell tell) {
  Descriptor file{open_log(path)};
  if (!file.is_open())
    return Error{Error::Kind::kUnavailable,
                 "cannot open the log file '" + path.string() + "': " + std::strerror(errno)};
  const std::uint64_t size = size_of(file.number());
  if (!tell) tell = [](const std::string& sentence) { log::error("{}", sentence); };
  return LogFile{path, std::move(file), rotation, size, std::move(tell)};
}

LogFile::LogFile(std::filesystem::path path, Descriptor file, RotationRule rule, std::uint64_t size,
                 Tell tell)
    : path_{std::move(path)},
      file_{std::move(file)},
      rule_{rule},
      rotation_{rule, size},
      tell_{std::move(tell)} {}

void LogFile::write(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const std::size_t fits = rotation_.fits(bytes);
    append(bytes.substr(0, fits));
    bytes.remove_prefix(fits);
    if (!bytes.empty() && !failed_) begin_next();
  }
}

void LogFile::append(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t n = ::write(file_.number(), bytes.data(), bytes.size());
    if (n >= 0) {
      const auto written = static_cast<std::size_t>(n);
      if (written > 0) rotation_.written(written, bytes[written - 1]);
      bytes.remove_prefix(written);
    } else if (errno != EINTR) {
      failed_ = true;
      tell_(fmt::format("cannot write to the log file '{}': {}; the rest is missing there",
                        path_.string(), std::strerror(errno)));
    }
  }
}

/// Where the next file cannot be had, the present one goes on: that costs space, and no byte.
void LogFile::begin_next() {
  const bool moved = move_files();
  Descriptor next{moved ? open_log(path_) : -1};
  if (!next.is_open()) {
    tell_(
        fmt::format("cannot rotate the log file '{}': {}; {}", path_.string(), std::strerror(errno),
                    moved ? "its output goes on in '" + earlier(1).string() + "'" : "it grows on"));
    rule_ = {};
    rotation_ = {rule_, 0};
    return;
  }
  file_ = std::move(next);
  rotation_.begin_next();
}

/// The oldest file is replaced by the one behind it.
bool LogFile::move_files() const {
  for (int number = rule_.files_max - 1; number > 0; --number)
    if (std::rename(earlier(number - 1).c_str(), earlier(number).c_str()) != 0 && errno != ENOENT)
      return false;
  return true;
}

std::filesystem::path LogFile::earlier(int number) const {
  return number == 0 ? path_ : std::filesystem::path{path_.string() + "." + std::to_string(number)};
}

namespace {

std::size_t size_of(std::ifstream& file) {
  file.seekg(0, std::ios::end);
  const auto end = file.tellg();
  return end < 0 ? 0 : static_cast<std::size_t>(end);
}

std::string read_at(std::ifstream& file, std::size_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

LogReader::LogReader(std::filesystem::path file, std::size_t tail_bytes) : file_{std::move(file)} {
  std::ifstream in{file_, std::ios::binary};
  if (!in) return;
  const std::size_t size = size_of(in);
  if (size <= tail_bytes) return;
  offset_ = size - tail_bytes;
  const std::string tail = read_at(in, offset_, tail_bytes);
  const std::size_t newline = tail.find('\n');
  if (newline != std::string::npos) offset_ += newline + 1;
}

std::string LogReader::read(std::size_t bytes_max) {
  std::ifstream in{file_, std::ios::binary};
  if (!in) return "";
  const std::size_t size = size_of(in);
  if (size < offset_) offset_ = 0;
  std::string text = read_at(in, offset_, std::min(size - offset_, bytes_max));
  offset_ += text.size();
  return text;
}

}  // namespace ddprun
