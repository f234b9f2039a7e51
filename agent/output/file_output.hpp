// FileOutput: standard output or error where it is a file, as that of a batch job. Its disk or
// server may hang, and a write(2) to it waits then, without an end: so a thread does it, which can
// be left behind.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/asio.hpp"

namespace ddprun {

class FileOutput {
 public:
  /// The descriptor `fd` is that of a file, and must stay open. `has_room` is called in `home` when
  /// it is not full any more; both must outlive this.
  FileOutput(const asio::any_io_executor& home, int fd, std::function<void()> has_room);
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;
  ~FileOutput();

  /// Has the bytes written behind all that was written before, also to another file of that disk:
  /// standard output and error may be the same one. If the disk is full, they are dropped.
  void write(std::string_view bytes);

  /// Whether so much waits that who has more to write should wait, too.
  bool is_full() const;

  /// Waits until all is written, unless nothing is for that long. Returns whether it is.
  bool done_within(std::chrono::milliseconds at_most);

 private:
  static constexpr std::size_t kPendingMax = 1024 * 1024;  // in bytes

  class Disk;
  struct File;

  std::shared_ptr<Disk> disk_;
  std::shared_ptr<File> file_;
};

}  // namespace ddprun
