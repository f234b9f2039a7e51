// FolderWatch tells when something happens in a folder and in those below it, by inotify(7). What
// is written is not told, only that a file was made, closed behind writing, renamed or removed:
// files that are written in many small pieces would fill the kernel's queue.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

class FolderWatch {
 public:
  /// The path is one from the folder on, "" where the kernel has lost count.
  using Touched = std::function<void(const std::string& path)>;

  explicit FolderWatch(const asio::any_io_executor& executor) : events_{executor} {}
  FolderWatch(const FolderWatch&) = delete;

  /// Errors: kUnavailable, where the user has too many watches.
  Result<void> begin(const std::filesystem::path& folder, Touched touched);
  void end();

 private:
  asio::awaitable<void> read();
  void hear(std::string_view& events);
  Result<void> add(const std::string& path);
  void add_below(const std::string& path);

  asio::posix::stream_descriptor events_;
  std::filesystem::path folder_;
  Touched touched_;
  std::map<int, std::string> watched_;  // paths of folders
};

}  // namespace ddprun
