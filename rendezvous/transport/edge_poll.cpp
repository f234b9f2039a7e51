#include "rendezvous/transport/edge_poll.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace ddprun {

bool EdgePoll::watch(int socket, std::uint64_t tag) {
  if (!set_.is_open()) {
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) return false;
    set_.assign(set);
  }
  epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.u64 = tag}};
  if (::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket, &event) != 0) return false;
  ++watched_;
  return true;
}

void EdgePoll::forget(int socket) {
  if (set_.is_open() && ::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, socket, nullptr) == 0)
    --watched_;
  if (empty()) cancel();
}

std::span<const epoll_event> EdgePoll::take(std::span<epoll_event> events) {
  if (!set_.is_open()) return {};
  const int count =
      ::epoll_wait(set_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
  return events.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

void EdgePoll::cancel() {
  boost::system::error_code ignored;  // nothing to cancel
  if (set_.is_open()) set_.cancel(ignored);
}

namespace {

bool try_again_later(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

EdgeSocket::EdgeSocket(int socket) : socket_{socket} {
  const int on = 1;  // where this fails the socket is broken, and the first read will say so
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

EdgeSocket::~EdgeSocket() { ::close(socket_); }

void EdgeSocket::notice(std::uint32_t events) {
  constexpr std::uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  hung_up_ = hung_up_ || (events & kEnd) != 0;
  readable_ = readable_ || (events & (EPOLLIN | kEnd)) != 0;
  writable_ = writable_ || (events & (EPOLLOUT | kEnd)) != 0;
}

std::size_t EdgeSocket::receive(std::span<char> buffer) {
  const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got <= 0) {
    readable_ = got < 0 && errno == EINTR;
    gone_ = got == 0 || !(readable_ || try_again_later(errno));
    return 0;
  }
  const auto bytes = static_cast<std::size_t>(got);
  // A short read has emptied the socket, and what comes later is a new event (epoll(7)).
  if (bytes < buffer.size() && !hung_up_) readable_ = false;
  return bytes;
}

std::size_t EdgeSocket::send(std::string_view bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  writable_ = errno == EINTR;
  gone_ = gone_ || !(writable_ || try_again_later(errno));
  return 0;
}

}  // namespace ddprun
