// Loads a TCPStore server, torch's or ours, over loopback, and measures how it answers:
//
//   store_load PORT OPERATION CONNECTIONS SECONDS   ->  requests/s, p50 and p99 in microseconds
//   store_load PORT wake WAITERS REPETITIONS        ->  microseconds, p50 and p99
//
// OPERATION: setget (a SET and a GET in one send, as nothing answers SET), get, add. Each
// connection has one pending request, as torch's client has, and a key of its own. `wake`: from the
// SET that WAITERS wait for to the last one's answer.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/store_client.hpp"

using namespace ddprun::load;

namespace {

constexpr std::string_view kValue = "a value of 24 characters";

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
  if (operation == "setget")
    return {socket, set_request(key, kValue) + request(0x03, key), value_reply};
  if (operation == "get") {
    send_all(socket, set_request(key, kValue));
    return {socket, request(0x03, key), value_reply};
  }
  std::string add = request(0x04, "/number/" + std::to_string(number));
  ddprun::write_i64(add, 1);
  return {socket, std::move(add), 8};
}

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
    send_all(setter, set_request(key, kValue));
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

}  // namespace

int main(int argc, char** argv) {
  const std::string_view operation = argc == 5 ? argv[2] : "";
  if (operation != "setget" && operation != "get" && operation != "add" && operation != "wake") {
    std::fprintf(stderr,
                 "usage: store_load PORT setget|get|add CONNECTIONS SECONDS\n"
                 "       store_load PORT wake WAITERS REPETITIONS\n");
    return 2;
  }
  raise_file_limit();
  const auto port = to_number<std::uint16_t>(argv[1]);
  const auto count = to_number<std::size_t>(argv[3]);
  if (operation == "wake") {
    measure_wake(port, count, to_number<int>(argv[4]));
  } else {
    measure_operation(port, operation, count, to_number<double>(argv[4]));
  }
}
