// The directory in which workers record the exceptions that end them.
#pragma once

#include <filesystem>
#include <string>

#include "rendezvous/result.hpp"

namespace ddprun {

/// A fresh directory in the system's temporary one, removed with all in it unless keep() is called.
class ErrorDirectory {
 public:
  /// `temporary`: TMPDIR or /tmp. Errors: kUnavailable.
  static Result<ErrorDirectory> make(const std::string& temporary);

  ErrorDirectory(ErrorDirectory&& other) noexcept;
  ErrorDirectory& operator=(ErrorDirectory&&) = delete;
  ~ErrorDirectory();

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit ErrorDirectory(std::filesystem::path path) : path_{std::move(path)} {}

  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace ddprun
