// The directory of a run holds its logs, and what workers record of the exceptions that end them.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace ddprun {

/// A fresh directory <base>/<name>_<random>. It is removed at the end with all that is in it,
/// unless keep() is called.
class RunDirectory {
 public:
  /// Makes the directory, and `base` if it is not there. Errors: kInvalid when `base` cannot be
  /// made or is a file, kUnavailable when nothing can be made in it.
  static Result<RunDirectory> make(const std::filesystem::path& base, std::string name);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  /// Its absolute path.
  const std::filesystem::path& path() const { return path_; }
  /// Lets it stay after the end.
  void keep() { kept_ = true; }

 private:
  explicit RunDirectory(std::filesystem::path path) : path_{std::move(path)} {}

  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace ddprun
