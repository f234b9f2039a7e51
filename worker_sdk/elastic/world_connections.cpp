#include "worker_sdk/elastic/world_connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace ddprun::sdk {

namespace {

/// The descriptors of this process that are sockets: by their inodes.
std::map<ino_t, int> open_sockets() {
  std::map<ino_t, int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", error}) {
    const std::string name = entry.path().filename();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    struct stat status {};
    // The listing itself has had it, or another thread has closed it, where there is none.
    if (fstat(number, &status) == 0 && S_ISSOCK(status.st_mode)) found[status.st_ino] = number;
  }
  return found;
}

int option(int file, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(file, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool is_tcp_connection(int file) {
  const int domain = option(file, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option(file, SO_TYPE) == SOCK_STREAM &&
         option(file, SO_ACCEPTCONN) == 0;
}

bool is_socket(int file, ino_t inode) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_ino == inode;
}

}  // namespace

WorldConnections::WorldConnections() {
  for (const auto& [inode, number] : open_sockets()) before_.insert(inode);
}

void WorldConnections::note() {
  const std::lock_guard lock{mutex_};
  if (is_closed_) return;
  for (const auto& [inode, number] : open_sockets()) {
    if (before_.contains(inode) || noted_.contains(inode)) continue;
    const int copy = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;  // it was closed meanwhile
    if (is_socket(copy, inode) && is_tcp_connection(copy))
      noted_[inode] = copy;
    else
      ::close(copy);
  }
}

bool WorldConnections::hung_up() const {
  const std::lock_guard lock{mutex_};
  std::vector<pollfd> watched;
  for (const auto& [inode, file] : noted_) watched.push_back({file, POLLRDHUP, 0});
  return poll(watched.data(), watched.size(), 0) > 0;
}

void WorldConnections::shut_down() const {
  const std::lock_guard lock{mutex_};
  for (const auto& [inode, file] : noted_) shutdown(file, SHUT_RDWR);
}

void WorldConnections::close() {
  const std::lock_guard lock{mutex_};
  for (const auto& [inode, file] : noted_) ::close(file);
  noted_.clear();
  is_closed_ = true;
  closed_.notify_all();
}

bool WorldConnections::await_close(std::chrono::milliseconds time) {
  std::unique_lock lock{mutex_};
  return closed_.wait_for(lock, time, [&] { return is_closed_; });
}

}  // namespace ddprun::sdk
