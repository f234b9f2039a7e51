// Serves the worker store on one port until it is stopped: store_main [PORT [WORLD_SIZE]].
//
// For tests that drive the store with torch's own clients.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/log.hpp"
#include "rendezvous/store/store_server.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

void accept_next(tcp::acceptor& acceptor, ddprun::StoreServer& server) {
  acceptor.async_accept([&](const boost::system::error_code& error, tcp::socket socket) {
    if (error) {
      ddprun::log::warn("store_main: {}", error.message());
    } else {
      server.adopt(std::move(socket));
    }
    accept_next(acceptor, server);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  const auto world_size = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  asio::io_context context{1};
  ddprun::StoreServer server{context.get_executor()};
  server.begin_round(world_size);
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), port}};
  std::printf("listening on 127.0.0.1:%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  accept_next(acceptor, server);
  context.run();
}
