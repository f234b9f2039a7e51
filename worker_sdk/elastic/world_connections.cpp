#include "worker_sdk/elastic/world_connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
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

bool is_tcp(int file) {
  const int domain = option(file, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option(file, SO_TYPE) == SOCK_STREAM;
}

/// Connects where `listening` does, as the member of that pair of Gloo's does, and hangs up.
void hang_up_at(int listening, std::int64_t pair) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(listening, place, &size) != 0) return;
  const int member = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (member < 0) return;
  const timeval patience{0, 100'000};  // to connect to this process itself
  setsockopt(member, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(member, place, size) == 0) send(member, &pair, sizeof pair, MSG_NOSIGNAL);
  ::close(member);
}

bool is_socket(int file, ino_t inode) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_ino == inode;
}

}  // namespace

WorldConnections::WorldConnections(int members) : members_{members} {
  for (const auto& [inode, number] : open_sockets()) before_.insert(inode);
}

void WorldConnections::note() {
  const std::lock_guard lock{mutex_};
  if (is_closed_) return;
  for (const auto& [inode, number] : open_sockets()) {
    if (before_.contains(inode) || noted_.contains(inode) || listening_.contains(inode)) continue;
    const int copy = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;  // it was closed meanwhile
    if (is_socket(copy, inode) && is_tcp(copy))
      (option(copy, SO_ACCEPTCONN) == 0 ? noted_ : listening_)[inode] = copy;
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

/// Gloo counts a process's pairs from 0, and reads that number first.
void WorldConnections::hang_up_for_members() const {
  const std::lock_guard lock{mutex_};
  for (const auto& [inode, file] : listening_)
    for (std::int64_t pair = 0; pair < members_; ++pair) hang_up_at(file, pair);
}

void WorldConnections::close() {
  const std::lock_guard lock{mutex_};
  for (const auto* const files : {&noted_, &listening_})
    for (const auto& [inode, file] : *files) ::close(file);
  noted_.clear();
  listening_.clear();
  is_closed_ = true;
  closed_.notify_all();
}

bool WorldConnections::await_close(std::chrono::milliseconds time) {
  std::unique_lock lock{mutex_};
  return closed_.wait_for(lock, time, [&] { return is_closed_; });
}

}  // namespace ddprun::sdk
