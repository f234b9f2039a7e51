// What the programs that load a TCPStore server have in common: requests, blocking connections, a
// poll. They end with a message when anything fails.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/store/store_protocol.hpp"

namespace ddprun::load {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

inline std::string request(std::uint8_t code, std::string_view key) {
  std::string bytes;
  write_byte(bytes, code);
  write_bytes(bytes, key);
  return bytes;
}

inline std::string set_request(std::string_view key, std::string_view value) {
  std::string bytes = request(0x01, key);
  write_bytes(bytes, value);
  return bytes;
}

inline std::string wait_request(std::string_view key) {
  std::string bytes;
  write_byte(bytes, 0x06);
  write_i64(bytes, 1);
  write_bytes(bytes, key);
  return bytes;
}

inline void send_all(int socket, std::string_view bytes) {
  if (::send(socket, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fail("send");
  }
}

inline void receive_all(int socket, std::size_t bytes) {
  std::array<char, 64> reply;
  if (::recv(socket, reply.data(), bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) fail("recv");
}

inline int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fail("connect");
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval patience{10, 0};  // a server that stands still is a result, too
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string hello;
  write_byte(hello, 0x00);
  write_u32(hello, kStoreMagic);
  send_all(socket, hello);  // apart, as torch's client does
  std::string ping;
  write_byte(ping, 0x0d);
  write_u32(ping, static_cast<std::uint32_t>(::getpid()));
  send_all(socket, ping);
  receive_all(socket, 4);
  return socket;
}

class Poll {
 public:
  void add(int socket, std::size_t index) const {
    epoll_event event{EPOLLIN, {.u64 = index}};
    if (::epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket, &event) != 0) fail("epoll_ctl");
  }
  template <typename Handler>  // called with the index of each connection that can be read
  void wait(Handler&& handler) {
    const int ready =
        ::epoll_wait(descriptor_, events_.data(), static_cast<int>(events_.size()), 10'000);
    if (ready <= 0) fail("no answer");
    for (int i = 0; i < ready; ++i) handler(events_[i].data.u64);
  }

 private:
  int descriptor_ = ::epoll_create1(0);
  std::array<epoll_event, 512> events_;
};

template <typename Number>
Number to_number(const char* text) {
  Number number{};
  const std::string_view view{text};
  std::from_chars(view.data(), view.data() + view.size(), number);
  return number;
}

inline void raise_file_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace ddprun::load
