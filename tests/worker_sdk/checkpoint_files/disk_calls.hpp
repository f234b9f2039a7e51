// DiskCalls: which system calls a piece of code makes that decide what a power failure leaves.
//
// No test can cut the power, but what survives it follows from the order of fsync(2) and rename(2).
// A program that links disk_calls.cpp has its own fsync(), rename() and renameat2(), which the
// linker prefers to those of the C library; they write down the call and then make it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun {

/// Writes down the calls of all threads while it lives; one at a time.
class DiskCalls {
 public:
  /// Paths are reported as seen from `folder`.
  explicit DiskCalls(std::filesystem::path folder);
  ~DiskCalls();
  DiskCalls(const DiskCalls&) = delete;
  DiskCalls& operator=(const DiskCalls&) = delete;

  /// The calls so far, in order: "fsync a/b", "rename a -> b", "exchange a <-> b". The folder
  /// itself is ".".
  std::vector<std::string> all() const;

  /// The place of `call` in all(), which must have it exactly once.
  std::size_t place_of(const std::string& call) const;

  /// How many of all() begin with `what`.
  std::size_t count(const std::string& what) const;
};

}  // namespace ddprun
