#include "base/system/peer_users.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/system/endpoint_text.hpp"
#include "base/system/sock_diag.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

void write_address(const asio::ip::address& address, __be32 (&to)[4]) {
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    std::memcpy(to, bytes.data(), bytes.size());
  } else {
    const auto bytes = address.to_v6().to_bytes();
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

/// Asks for the socket whose own end is `near`, and whose other end is `far`.
SocketQuestion ask_for(const tcp::endpoint& near, const tcp::endpoint& far, std::uint32_t number) {
  const auto own = unmapped(near.address());
  SocketQuestion question = tcp_question(own.is_v4() ? AF_INET : AF_INET6, number);
  question.socket.idiag_states = ~0U;
  question.socket.id.idiag_sport = htons(near.port());
  question.socket.id.idiag_dport = htons(far.port());
  question.socket.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  question.socket.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  write_address(own, question.socket.id.idiag_src);
  write_address(unmapped(far.address()), question.socket.id.idiag_dst);
  return question;
}

Error no_answer(int error) {
  return {Error::Kind::kUnavailable,
          std::string{"the kernel does not tell whose a connection is: "} + std::strerror(error)};
}

Error not_held() {
  return {Error::Kind::kNotFound, "no process of this machine holds its other end"};
}

/// Reads the answer to question `number`. Errors: as those of user_of().
Result<inet_diag_msg> read_answer(int netlink, std::uint32_t number) {
  alignas(nlmsghdr) std::array<char, 4096> bytes;
  const ssize_t size = ::recv(netlink, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) return no_answer(errno);
  nlmsghdr header{};
  if (static_cast<std::size_t>(size) < sizeof header) return no_answer(EBADMSG);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nlmsg_seq != number) return no_answer(EBADMSG);
  const char* const payload = bytes.data() + NLMSG_HDRLEN;
  const auto payload_size = std::min<std::size_t>(size, header.nlmsg_len) - NLMSG_HDRLEN;
  if (header.nlmsg_type == NLMSG_ERROR && payload_size >= sizeof(nlmsgerr)) {
    nlmsgerr failure{};
    std::memcpy(&failure, payload, sizeof failure);
    return failure.error == -ENOENT ? not_held() : no_answer(-failure.error);
  }
  inet_diag_msg answer{};
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || payload_size < sizeof answer)
    return no_answer(EBADMSG);
  std::memcpy(&answer, payload, sizeof answer);
  return answer;
}

Result<inet_diag_msg> find(int netlink, const tcp::endpoint& near, const tcp::endpoint& far,
                           std::uint32_t number) {
  const SocketQuestion question = ask_for(near, far, number);
  if (::send(netlink, &question, sizeof question, MSG_DONTWAIT) < 0) return no_answer(errno);
  return read_answer(netlink, number);
}

}  // namespace

Result<uid_t> PeerUsers::user_of(const tcp::socket& connection) {
  boost::system::error_code gone;
  const auto ours = connection.local_endpoint(gone);
  const auto theirs = gone ? tcp::endpoint{} : connection.remote_endpoint(gone);
  if (gone) return not_held();
  if (!netlink_.is_open()) netlink_ = open_sock_diag();
  if (!netlink_.is_open()) return no_answer(errno);
  const auto found = find(netlink_.number(), theirs, ours, ++questions_);
  if (!found && found.error().kind == Error::Kind::kNotFound) {
    // A kernel without tcp_diag says ENOENT of any socket, and this one is there.
    const auto own = find(netlink_.number(), ours, theirs, ++questions_);
    return own ? not_held() : no_answer(ENOENT);
  }
  if (!found) return found.error();
  const inet_diag_msg& answer = *found;
  // Where no socket has both ends the kernel names one that listens at the near end.
  if (answer.idiag_state == TCP_LISTEN || answer.id.idiag_dport != htons(ours.port()))
    return not_held();
  // A socket that its process has closed has no owner any more, and shows as one of root's.
  if (answer.idiag_inode == 0) return not_held();
  return answer.idiag_uid;
}

namespace {

void say_that_all_may_enter(const Error& why) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  log::warn("{}; so any user of this machine can connect to this job", why.message);
}

}  // namespace

bool OwnUserFilter::lets_in(const asio::ip::tcp::socket& connection) {
  const auto user = users_.user_of(connection);
  if (user && (*user == 0 || *user == ::geteuid())) return true;
  if (!user && user.error().kind == Error::Kind::kUnavailable) {
    say_that_all_may_enter(user.error());
    return true;
  }
  boost::system::error_code gone;
  const auto port = connection.local_endpoint(gone).port();
  const auto peer = gone ? asio::ip::tcp::endpoint{} : connection.remote_endpoint(gone);
  if (user) {
    refused_.say("closed a connection to port {}: user {} may not use what belongs to user {}",
                 port, *user, ::geteuid());
  } else if (!gone && !peer.address().is_loopback()) {
    refused_.say("closed a connection from {}: {}", endpoint_text(peer), user.error().message);
  }
  return false;
}

}  // namespace ddprun
