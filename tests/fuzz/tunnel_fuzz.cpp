// Fuzzes the coordinator's end of a tunnel: an agent that sends any bytes in any pieces. They must
// be cut into the same frames however they come, nobody else's client may suffer, and no memory may
// stay charged when the agent has gone.
//
// The first byte of the input says how long the pieces are.
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/tunnel/tunnel_exit.hpp"
#include "tests/fuzz/fuzz_limits.hpp"

namespace {

namespace asio = boost::asio;
using namespace ddprun;

constexpr std::string_view kHello{"\x00\xce\xf7\x85\x3c\x0d\x01\x02\x03\x04\x07", 11};
constexpr std::string_view kAnswer{"\1\2\3\4\0\0\0\0\0\0\0\0", 12};

void require(bool condition) {
  if (!condition) std::abort();
}

class Coordinator {
 public:
  /// An agent's connection; what is returned is the agent's side of it.
  int connect(std::optional<TunnelExit>& exit) {
    std::array<int, 2> ends;
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    auto channel =
        std::make_shared<Channel>(asio::ip::tcp::socket{context_, asio::ip::tcp::v4(), ends[1]});
    exit.emplace(channel, store_, [](std::uint32_t round) { return round < 4; });
    co_spawn(context_, listen(channel), asio::detached);
    return ends[0];
  }

  void send(int agent, std::string_view bytes) {
    // A client that was cut off, or is not read from, loses bytes: that is its misfortune.
    [[maybe_unused]] const ssize_t sent =
        ::send(agent, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    run();
  }
  void drain(int agent) {
    std::array<char, 4096> frames;
    while (::recv(agent, frames.data(), frames.size(), MSG_DONTWAIT) > 0) run();
  }
  void run() {
    context_.restart();
    for (int i = 0; i < 100 && context_.poll_one() > 0; ++i) continue;
  }

  /// A good agent's client is served as if nothing had been.
  void check_service(std::size_t other_clients) {
    std::optional<TunnelExit> exit;
    const int agent = connect(exit);
    store_.begin_round();
    std::string bytes;
    write_frame(bytes, TunnelOpen{1, 1});
    write_frame(bytes, TunnelData{1, kHello});
    send(agent, bytes);
    std::array<char, 64> reply;
    const ssize_t size = ::recv(agent, reply.data(), reply.size(), MSG_DONTWAIT);
    require(size == static_cast<ssize_t>(kFrameHeaderBytes + kAnswer.size()));
    require((std::string_view{reply.data(), 21}.substr(kFrameHeaderBytes) == kAnswer));
    require(store_.connections() == 1 + other_clients);
    ::close(agent);
    run();
  }
  void check_empty() {
    store_.begin_round();
    require(store_.connections() == 0);
    require(store_.bytes_used() == 0);
  }

 private:
  static asio::awaitable<void> listen(std::shared_ptr<Channel> channel) {
    for (;;) {
      const Result<std::string> line = co_await channel->receive();
      if (!line) co_return channel->close();
    }
  }

  asio::io_context context_{1};
  StoreServer store_{context_.get_executor(), kFuzzLimits};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::size_t piece = std::size_t{data[0]} + 1;

  Coordinator coordinator;
  std::optional<TunnelExit> exit;
  const int agent = coordinator.connect(exit);
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    coordinator.send(agent, bytes.substr(i, piece));
    if (i % 3 == 0) coordinator.drain(agent);
  }
  coordinator.check_service(0);
  exit.reset();
  ::close(agent);
  coordinator.run();
  coordinator.check_empty();
  return 0;
}
