// Clients of a store under test, in one event loop with it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {

/// The loop runs only while a test waits for something.
struct StoreClients {
  using Socket = boost::asio::ip::tcp::socket;

  std::string receive(Socket& client, std::size_t size) {
    struct Read {  // outlives this call when it fails
      std::string bytes;
      bool done = false;
    };
    const auto read = std::make_shared<Read>();
    read->bytes.resize(size);
    boost::asio::async_read(client, boost::asio::buffer(read->bytes),
                            [read](boost::system::error_code error, std::size_t) {
                              CHECK_FALSE(error);
                              read->done = true;
                            });
    run_until("a client has received " + std::to_string(size) + " bytes",
              [&] { return read->done; });
    return std::move(read->bytes);
  }

  bool closed(Socket& client) {
    struct Read {
      char byte = 0;
      std::optional<boost::system::error_code> result;
    };
    const auto read = std::make_shared<Read>();
    client.async_read_some(
        boost::asio::buffer(&read->byte, 1),
        [read](boost::system::error_code result, std::size_t) { read->result = result; });
    run_until("a client's connection is closed or talks", [&] { return read->result.has_value(); });
    const boost::system::error_code error = *read->result;
    return error == boost::asio::error::eof || error == boost::asio::error::connection_reset;
  }

  template <typename Condition>
  void run_until(const std::string& what, Condition&& condition) {
    ddprun::run_until(context, what, condition);
  }

  boost::asio::io_context context{1};
};

}  // namespace ddprun
