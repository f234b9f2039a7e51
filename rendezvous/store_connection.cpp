#include "rendezvous/store_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ddprun {

namespace {

void set_option(int socket, int level, int name, int value) {
  // A socket that is broken already fails at the first read.
  ::setsockopt(socket, level, name, &value, sizeof value);
}

// A worker whose machine has gone says nothing; two minutes later its connection is closed.
void watch_for_dead_peers(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

bool try_again_later(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

StoreConnection::StoreConnection(int socket, std::string address, ClientId id, StoreState& state)
    : socket_{socket}, session_{id, std::move(address), state} {
  set_option(socket_, IPPROTO_TCP, TCP_NODELAY, 1);
  watch_for_dead_peers(socket_);
}

StoreConnection::~StoreConnection() {
  session_.leave();
  ::close(socket_);
}

void StoreConnection::notice(std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  hung_up_ = hung_up_ || (events & kEnd) != 0;
  readable_ = readable_ || (events & (EPOLLIN | kEnd)) != 0;
  writable_ = writable_ || (events & (EPOLLOUT | kEnd)) != 0;
}

Result<void> StoreConnection::read(std::span<char> scratch) {
  if (session_.paused()) return session_.must_drain() ? Result<void>{} : session_.proceed();
  if (!readable_) return {};
  const bool begun = session_.request_begun();
  const std::span<char> room = begun ? session_.room() : scratch;
  const ssize_t got = ::recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
  if (got <= 0) {
    readable_ = got < 0 && errno == EINTR;
    gone_ = got == 0 || !(readable_ || try_again_later(errno));
    return {};
  }
  const auto bytes = static_cast<std::size_t>(got);
  // A short read has emptied the socket, and what comes later is a new event (epoll(7)).
  if (bytes < room.size() && !hung_up_) readable_ = false;
  return begun ? session_.received(bytes) : session_.received({room.data(), bytes});
}

void StoreConnection::flush() {
  const std::string_view output = session_.output();
  if (output.empty() || !writable_) return;
  const ssize_t sent = ::send(socket_, output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return session_.sent(static_cast<std::size_t>(sent));
  writable_ = errno == EINTR;
  gone_ = gone_ || !(writable_ || try_again_later(errno));
}

bool StoreConnection::unfinished() const {
  const bool can_send = writable_ && !session_.output().empty();
  const bool can_serve = session_.paused() ? !session_.must_drain() : readable_;
  return can_send || can_serve;
}

}  // namespace ddprun
