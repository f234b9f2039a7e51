#include "agent/checkpoints/folder_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/coroutines.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kWatched = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO |
                                   IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

}  // namespace

Result<void> FolderWatch::begin(const fs::path& folder, Touched touched) {
  const int file = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (file < 0)
    return Error{Error::Kind::kUnavailable, std::string{"cannot watch a folder: "} +
                                                std::strerror(errno) +
                                                " (sysctl fs.inotify.max_user_instances)"};
  events_.assign(file);
  folder_ = folder;
  touched_ = std::move(touched);
  if (auto added = add(""); !added) return added;
  add_below("");
  start_coroutine(events_.get_executor(), read(), report_failure("watching checkpoints"));
  return {};
}

void FolderWatch::end() {
  boost::system::error_code ignored;
  events_.close(ignored);
}

Result<void> FolderWatch::add(const std::string& path) {
  const int number =
      ::inotify_add_watch(events_.native_handle(), (folder_ / path).c_str(), kWatched);
  if (number >= 0) watched_[number] = path;
  if (number >= 0 || errno == ENOENT || errno == ENOTDIR) return {};  // it has gone already
  return Error{Error::Kind::kUnavailable, "cannot watch '" + (folder_ / path).string() +
                                              "': " + std::strerror(errno) +
                                              " (sysctl fs.inotify.max_user_watches)"};
}

/// Folders may have been made before their parent was watched.
void FolderWatch::add_below(const std::string& path) {
  std::error_code failed;
  fs::recursive_directory_iterator next{folder_ / path, failed};
  for (; !failed && next != fs::recursive_directory_iterator{}; next.increment(failed))
    if (next->symlink_status(failed).type() == fs::file_type::directory)
      if (!add(next->path().lexically_relative(folder_).string())) return;
}

asio::awaitable<void> FolderWatch::read() {
  std::array<char, kReadBytes> bytes;
  while (events_.is_open()) {
    const auto [error] = co_await events_.async_wait(asio::posix::descriptor_base::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error || !events_.is_open()) co_return;
    const ssize_t got = ::read(events_.native_handle(), bytes.data(), bytes.size());
    std::string_view events{bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    while (!events.empty()) hear(events);
  }
}

/// Takes the first event from `events`. In there, no event is aligned.
void FolderWatch::hear(std::string_view& events) {
  inotify_event event{};
  events.copy(reinterpret_cast<char*>(&event), sizeof event);
  const std::string_view padded = events.substr(sizeof event, event.len);
  const std::string name{padded.substr(0, padded.find('\0'))};
  events.remove_prefix(sizeof event + event.len);
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    add_below("");
    return touched_("");
  }
  const auto folder = watched_.find(event.wd);
  if (folder == watched_.end()) return;
  if ((event.mask & IN_IGNORED) != 0) {
    watched_.erase(folder);
    return;
  }
  const std::string path = folder->second.empty() ? name : folder->second + "/" + name;
  const bool is_new_folder =
      (event.mask & IN_ISDIR) != 0 && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  if (is_new_folder && add(path)) add_below(path);
  touched_(path);
}

}  // namespace ddprun
