// Clients of a store under test, in one event loop with it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_until.hpp"

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
    run_until("a client has received " + std::to_string(size) + " bytes", [&] { return done; });
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
    run_until("a client's connection is closed or talks", [&] { return done; });
    return error == boost::asio::error::eof || error == boost::asio::error::connection_reset;
  }

  template <typename Condition>
  void run_until(const std::string& what, Condition&& condition) {
    ddprun::run_until(context, what, condition);
  }

  boost::asio::io_context context{1};
};

}  // namespace ddprun
