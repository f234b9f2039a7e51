// The directory of a run's files: logs, and what workers record of the exceptions that end them.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// A fresh directory <base>/<name>_<random>; removed with all in it at the end, unless keep() is
/// called.
class RunDirectory {
 public:
  /// Makes `base` if it is not there. Errors: kUnavailable, kInvalid when `base` is a file.
  static Result<RunDirectory> make(const std::filesystem::path& base, std::string name);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit RunDirectory(std::filesystem::path path) : path_{std::move(path)} {}

  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace ddprun
