// LogFile: a file that a worker's output is appended to; LogReader reads one that is still being
// written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "agent/output/log_rotation.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace ddprun {

/// LogFile: a file that a worker's output is appended to. It may be rotated: `stdout.log` is
/// written to, `stdout.log.1` came before it, `stdout.log.2` before that.
class LogFile {
 public:
  /// Takes a sentence about what went wrong.
  using Tell = std::function<void(const std::string&)>;

  /// Creates the file, or goes on at its end: what is there is never erased but by `rotation`.
  /// Without `tell`, what goes wrong is written to the log. Errors: kUnavailable.
  static Result<LogFile> open(const std::filesystem::path& path, RotationRule rotation = {},
                              Tell tell = {});

  /// Appends the bytes. When that fails (the disk is full), it warns once, and the worker goes on.
  /// When files cannot be rotated, it warns once, and goes on with the file that it has.
  void write(std::string_view bytes);

  /// Closes it. Nothing is written to it afterwards.
  void close() { file_ = Descriptor{}; }

  /// Hands out the descriptor, which the caller has to close from now on; -1: it is closed.
  int release() { return file_.release(); }

 private:
  LogFile(std::filesystem::path path, Descriptor file, RotationRule rule, std::uint64_t size,
          Tell tell);

  void append(std::string_view bytes);
  void begin_next();
  bool move_files() const;
  std::filesystem::path earlier(int number) const;

  std::filesystem::path path_;
  Descriptor file_;
  RotationRule rule_;
  LogRotation rotation_;
  Tell tell_;
  bool failed_ = false;
};

/// LogReader reads a log that is still being written: its end, and then what follows.
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
