// InputFile: a file of a checkpoint, read as what it is: something that may come from outside.
// Needs no LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace ddprun::sdk {

/// A regular file, open for reading. Errors of all functions: std::runtime_error, naming the file.
class InputFile {
 public:
  /// Follows no symbolic link to the file, because a link leads out of the checkpoint. Never waits,
  /// as for somebody to write into a pipe. Errors: it is not there, cannot be read, or is no
  /// regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Its size when it was opened.
  std::uint64_t bytes() const { return bytes_; }

  /// Reads what comes next, up to the size of `buffer`, and returns how much that is; 0: its end.
  std::size_t read(std::span<std::byte> buffer) const;

  /// Reads the next `bytes`, all of them. Errors: also when the file ends before.
  std::string read_text(std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  int fd_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ddprun::sdk
