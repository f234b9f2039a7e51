// Loads a TCPStore server, torch's or ours, over loopback, and measures how it answers:
//
//   store_load PORT OPERATION CONNECTIONS SECONDS   ->  requests/s, p50 and p99 in microseconds
//   store_load PORT wake WAITERS REPETITIONS        ->  microseconds, p50 and p99
//
// OPERATION: setget (a SET and a GET in one send, as nothing answers SET), get, add. Each
// connection has one request under way, as torch's client has, and a key of its own. `wake`:
// from the SET that WAITERS wait for to the last one's answer.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/store_protocol.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::string_view kValue = "a value of 24 characters";

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string request(std::uint8_t code, std::string_view key) {
  std::string bytes;
  ddprun::write_byte(bytes, code);
  ddprun::write_bytes(bytes, key);
  return bytes;
}

std::string set_request(std::string_view key) {
  std::string bytes = request(0x01, key);
  ddprun::write_bytes(bytes, kValue);
  return bytes;
}

std::string wait_request(std::string_view key) {
  std::string bytes;
  ddprun::write_byte(bytes, 0x06);
  ddprun::write_i64(bytes, 1);
  ddprun::write_bytes(bytes, key);
  return bytes;
}

void send_all(int socket, std::string_view bytes) {
  if (::send(socket, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fail("send");
  }
}

void receive_all(int socket, std::size_t bytes) {
  std::array<char, 64> reply;
  if (::recv(socket, reply.data(), bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) fail("recv");
}

int connect_to(std::uint16_t port) {
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
  ddprun::write_byte(hello, 0x00);
  ddprun::write_u32(hello, ddprun::kStoreMagic);
  send_all(socket, hello);  // apart, as torch's client does
  std::string ping;
  ddprun::write_byte(ping, 0x0d);
  ddprun::write_u32(ping, static_cast<std::uint32_t>(::getpid()));
  send_all(socket, ping);
  receive_all(socket, 4);
  return socket;
}

struct Connection {
  int socket;
  std::string request;
  std::size_t reply_bytes;
  std::size_t received = 0;
  Clock::time_point sent;

  void ask() {
    sent = Clock::now();
    send_all(socket, request);
  }
};

Connection prepare(std::uint16_t port, std::string_view operation, std::size_t number) {
  const std::string key = "/key/" + std::to_string(number);
  const std::size_t value_reply = 8 + kValue.size();
  const int socket = connect_to(port);
  if (operation == "setget") return {socket, set_request(key) + request(0x03, key), value_reply};
  if (operation == "get") {
    send_all(socket, set_request(key));
    return {socket, request(0x03, key), value_reply};
  }
  std::string add = request(0x04, "/number/" + std::to_string(number));
  ddprun::write_i64(add, 1);
  return {socket, std::move(add), 8};
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

void show(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  std::printf("%.1f %.1f\n", times[times.size() / 2], times[times.size() * 99 / 100]);
}

void measure_operation(std::uint16_t port, std::string_view operation, std::size_t count,
                       double seconds) {
  std::vector<Connection> connections;
  Poll poll;
  for (std::size_t i = 0; i < count; ++i) {
    connections.push_back(prepare(port, operation, i));
    poll.add(connections[i].socket, i);
  }
  std::vector<double> times;
  times.reserve(1 << 22);
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  for (Connection& connection : connections) connection.ask();
  auto now = start;
  while (now < end) {
    poll.wait([&](std::size_t index) {
      Connection& connection = connections[index];
      std::array<char, 256> reply;
      const ssize_t bytes = ::recv(connection.socket, reply.data(), reply.size(), 0);
      if (bytes <= 0) fail("the server has closed a connection");
      connection.received += static_cast<std::size_t>(bytes);
      if (connection.received < connection.reply_bytes) return;
      connection.received = 0;
      now = Clock::now();
      times.push_back(Microseconds{now - connection.sent}.count());
      connection.sent = now;
      send_all(connection.socket, connection.request);
    });
  }
  std::printf("%.0f ", static_cast<double>(times.size()) /
                           std::chrono::duration<double>(Clock::now() - start).count());
  show(times);
}

void measure_wake(std::uint16_t port, std::size_t waiters, int repetitions) {
  std::vector<int> sockets;
  Poll poll;
  for (std::size_t i = 0; i < waiters; ++i) {
    sockets.push_back(connect_to(port));
    poll.add(sockets[i], i);
  }
  const int setter = connect_to(port);
  std::vector<double> times;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const std::string key =
        "/wake/" + std::to_string(::getpid()) + "/" + std::to_string(repetition);
    // An answer to what was sent after WAIT shows that the server knows of the wait.
    std::string wait = wait_request(key);
    ddprun::write_byte(wait, 0x0d);
    ddprun::write_u32(wait, 7);
    for (const int socket : sockets) send_all(socket, wait);
    for (const int socket : sockets) receive_all(socket, 4);
    const auto start = Clock::now();
    send_all(setter, set_request(key));
    for (std::size_t woken = 0; woken < waiters;) {
      poll.wait([&](std::size_t index) {
        receive_all(sockets[index], 1);
        ++woken;
      });
    }
    times.push_back(Microseconds{Clock::now() - start}.count());
  }
  show(times);
}

template <typename Number>
Number to_number(const char* text) {
  Number number{};
  const std::string_view view{text};
  std::from_chars(view.data(), view.data() + view.size(), number);
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view operation = argc == 5 ? argv[2] : "";
  if (operation != "setget" && operation != "get" && operation != "add" && operation != "wake") {
    std::fprintf(stderr,
                 "usage: store_load PORT setget|get|add CONNECTIONS SECONDS\n"
                 "       store_load PORT wake WAITERS REPETITIONS\n");
    return 2;
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto port = to_number<std::uint16_t>(argv[1]);
  const auto count = to_number<std::size_t>(argv[3]);
  if (operation == "wake") {
    measure_wake(port, count, to_number<int>(argv[4]));
  } else {
    measure_operation(port, operation, count, to_number<double>(argv[4]));
  }
}
