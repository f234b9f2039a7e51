#include "rendezvous/transport/edge_poll.hpp"

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

}  // namespace ddprun
