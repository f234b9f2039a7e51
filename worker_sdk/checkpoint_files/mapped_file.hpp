// MappedFile: a file in memory, of which the system reads what is used. Needs no LibTorch.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace ddprun::sdk {

/// A regular file, mapped (mmap(2)). What is written to the memory does not get into the file; all
/// processes of a machine share what is not written to. The file must not be changed in its place
/// meanwhile; another one may take its name. Never waits, as for somebody to write into a pipe.
class MappedFile {
 public:
  /// Errors: std::runtime_error, naming the file: it is not there, cannot be read, or is no regular
  /// file.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace ddprun::sdk
