// LogReader reads a log that is still being written: its end, and then what follows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace ddprun {

class LogReader {
 public:
  /// Begins at a line, at most `tail_bytes` before the end of `file`. The file may come later.
  LogReader(std::filesystem::path file, std::size_t tail_bytes);

  /// Returns what is there beyond what was read, at most `bytes_max`; "": nothing at the moment. A
  /// file that has become shorter is another one, as after a rotation: it is read from its
  /// beginning.
  std::string read(std::size_t bytes_max);

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::size_t offset_ = 0;
};

}  // namespace ddprun
