// Clients of a store under test, in one event loop with it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {

/// The loop runs only while a test waits for something.
struct StoreClients {
  using Socket = boost::asio::ip::tcp::socket;

  std::string receive(Socket& client, std::size_t size) {
    std::string bytes(size, '\0');
    bool done = false;
    boost::asio::async_read(client, boost::asio::buffer(bytes),
                            [&](boost::system::error_code error, std::size_t) {
                              CHECK_FALSE(error);
                              done = true;
                            });
    run_until([&] { return done; });
    return bytes;
  }

  bool closed(Socket& client) {
    bool done = false;
    boost::system::error_code error;
    char byte;
    client.async_read_some(boost::asio::buffer(&byte, 1),
                           [&](boost::system::error_code result, std::size_t) {
                             error = result;
                             done = true;
                           });
    run_until([&] { return done; });
    return error == boost::asio::error::eof || error == boost::asio::error::connection_reset;
  }

  template <typename Condition>
  void run_until(Condition&& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    context.restart();
    while (!condition()) {
      context.run_one_for(std::chrono::seconds{1});
      REQUIRE(std::chrono::steady_clock::now() < give_up);
    }
  }

  boost::asio::io_context context{1};
};

}  // namespace ddprun
