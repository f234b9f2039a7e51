// LogFile: a file that a worker's output is appended to.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

class LogFile {
 public:
  /// Creates the file, or goes on at its end: what is there is never erased. Errors: kUnavailable.
  static Result<LogFile> open(const std::filesystem::path& path);

  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  /// Appends the bytes. When that fails (the disk is full), it warns once, and the worker goes on.
  void write(std::string_view bytes);

  /// Hands out the descriptor, which the caller has to close from now on.
  int release();

 private:
  LogFile(std::filesystem::path path, int fd) : path_{std::move(path)}, fd_{fd} {}

  std::filesystem::path path_;
  int fd_;
  bool failed_ = false;
};

}  // namespace ddprun
