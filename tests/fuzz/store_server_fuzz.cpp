// Fuzzes the whole server through its sockets: several clients that send any bytes in any pieces,
// read or do not, close, and begin new rounds. After each input a client that keeps to the protocol
// must be served as if nothing had been, and no memory may stay charged.
//
// The input is a list of steps: a byte that says who and what, a byte for how much, and the bytes
// to send. A client begins with VALIDATE of its own accord, unless the step says that it does not.
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/store/store_server.hpp"
#include "tests/fuzz/fuzz_limits.hpp"

namespace {

namespace asio = boost::asio;

constexpr std::size_t kClients = 4;

void require(bool condition) {
  if (!condition) std::abort();
}

class Clients {
 public:
  ~Clients() {
    for (const int socket : sockets_) hang_up(socket);
  }

  void send(std::size_t who, std::string_view bytes) {
    // A client that was closed, or that the server lets wait, loses bytes: that is its misfortune.
    [[maybe_unused]] const ssize_t sent =
        ::send(socket(who), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    run();
  }
  void read(std::size_t who) {
    std::array<char, 512> replies;
    while (::recv(socket(who), replies.data(), replies.size(), MSG_DONTWAIT) > 0) run();
  }
  void hang_up_of(std::size_t who) {
    hang_up(std::exchange(sockets_[who], -1));
    run();
  }
  void half_close(std::size_t who) {
    ::shutdown(socket(who), SHUT_WR);
    run();
  }
  void begin_round(std::size_t world_size) { server_.begin_round(world_size); }

  void connect(std::size_t who, bool validate) {
    hang_up(sockets_[who]);
    std::array<int, 2> ends;
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    sockets_[who] = ends[0];
    server_.adopt(asio::ip::tcp::socket{context_, asio::ip::tcp::v4(), ends[1]});
    run();
    if (validate) send(who, std::string_view{"\x00\xce\xf7\x85\x3c", 5});
  }

  // A client that keeps to the protocol is served, whatever others have done.
  void check_service() {
    server_.begin_round();
    connect(0, true);
    send(0, std::string_view{"\x0d\x01\x02\x03\x04\x07", 6});
    std::array<char, 64> reply;
    const ssize_t bytes = ::recv(sockets_[0], reply.data(), reply.size(), MSG_DONTWAIT);
    require(bytes == 12);
    require(
        (std::string_view{reply.data(), 12} == std::string_view{"\1\2\3\4\0\0\0\0\0\0\0\0", 12}));
    server_.close();
    require(server_.connections() == 0);
    require(server_.bytes_used() == 0);
  }

 private:
  static void hang_up(int socket) {
    if (socket >= 0) ::close(socket);
  }
  int socket(std::size_t who) {
    if (sockets_[who] < 0) connect(who, true);
    return sockets_[who];
  }
  void run() {
    context_.restart();
    for (int i = 0; i < 100 && context_.poll_one() > 0; ++i) continue;
  }

  asio::io_context context_{1};
  ddprun::StoreServer server_{context_.get_executor(), ddprun::kFuzzLimits};
  std::array<int, kClients> sockets_ = {-1, -1, -1, -1};
};

void step(Clients& clients, unsigned char what, unsigned char amount, std::string_view bytes) {
  const std::size_t who = what % kClients;
  switch (what / kClients % 8) {
    case 0:
      return clients.connect(who, amount % 2 == 0);
    case 1:
      return clients.read(who);
    case 2:
      return amount % 2 == 0 ? clients.hang_up_of(who) : clients.half_close(who);
    case 3:
      return amount > 200 ? clients.begin_round(amount % 4) : clients.send(who, bytes);
    default:
      return clients.send(who, bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  std::string_view input{reinterpret_cast<const char*>(data), size};
  Clients clients;
  while (input.size() >= 2) {
    const auto what = static_cast<unsigned char>(input[0]);
    const auto amount = static_cast<unsigned char>(input[1]);
    input.remove_prefix(2);
    const std::string_view bytes = input.substr(0, amount);
    input.remove_prefix(bytes.size());
    step(clients, what, amount, bytes);
  }
  clients.check_service();
  return 0;
}
