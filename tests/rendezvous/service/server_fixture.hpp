// What tests of Server share: a coordinator on a free port of this machine, and coroutines that
// play its peers.
#pragma once

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/coroutines.hpp"
#include "rendezvous/service/client.hpp"
#include "rendezvous/service/server.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

using namespace std::chrono_literals;
using asio::ip::tcp;

inline const asio::ip::address kLoopback = asio::ip::address_v4::loopback();

struct ServerFixture {
  void serve_many(ServerLimits limits = {}) {
    auto server = Server::listen(io_.get_executor(), kLoopback, 0, limits);
    REQUIRE(server.has_value());
    server_ = std::move(*server);
    server_->start();
  }

  void serve(CoordinatorRules rules, ServerLimits limits = {}) {
    rules.master_addr = "127.0.0.1";
    rules_ = rules;
    auto server = Server::listen(io_.get_executor(), rules, kLoopback, 0, limits);
    REQUIRE(server.has_value());
    server_ = std::move(*server);
    server_->start();
  }
  void serve(JobTerms terms, ServerLimits limits = {}) {
    serve(CoordinatorRules{.terms = terms}, limits);
  }

  /// Runs `peer` to its end, then takes the server down.
  void play(asio::awaitable<void> peer) {
    bool done = false;
    co_spawn(io_, std::move(peer), [&](const std::exception_ptr& failure) {
      done = true;
      server_->close();
      if (failure) std::rethrow_exception(failure);
    });
    io_.run_for(100s);
    INFO("a peer was waiting for " << waiting_for_);
    REQUIRE(done);
  }

  asio::awaitable<std::shared_ptr<Channel>> agent() {
    const Endpoint coordinator{"127.0.0.1", server_->port()};
    auto channel = co_await connect(coordinator, {10s, 10s});
    REQUIRE(channel.has_value());
    co_return *channel;
  }
  static void say(Channel& channel, const AgentMessage& message) { channel.send(encode(message)); }

  Join join(const NodeId& node, int workers = 1) const {
    return Join{.run_id = rules_.run_id,
                .node = node,
                .host = node,
                .workers = workers,
                .terms = rules_.terms};
  }

  Join join_job(const std::string& run_id) {
    return Join{.run_id = run_id, .node = "node" + std::to_string(++joined_), .host = "h"};
  }

  /// The next message of that kind; others are passed over. nullopt: the connection was closed.
  template <typename Message>
  asio::awaitable<std::optional<Message>> hear(Channel& channel) {
    waiting_for_ = encode(CoordinatorMessage{Message{}});
    for (;;) {
      const auto line = co_await channel.receive();
      if (!line) co_return std::nullopt;
      const auto message = decode_coordinator_message(*line);
      REQUIRE(message.has_value());
      if (const auto* found = std::get_if<Message>(&*message)) co_return *found;
    }
  }

  /// As above, where the test cannot go on without one.
  template <typename Message>
  asio::awaitable<Message> must_hear(Channel& channel) {
    const std::optional<Message> heard = co_await hear<Message>(channel);
    INFO("the connection was closed before " << waiting_for_);
    REQUIRE(heard.has_value());
    co_return *heard;
  }

  /// The first bytes that a peer gets which sends these; "" when the server closes the connection.
  asio::awaitable<std::string> answer_to(std::string bytes, asio::ip::address from = kLoopback) {
    tcp::socket socket = co_await connected(from);
    const auto buffer_of_bytes = asio::buffer(bytes);
    co_await asio::async_write(socket, buffer_of_bytes, asio::as_tuple(asio::use_awaitable));
    std::string answer;
    waiting_for_ = "an answer or the end of its connection";
    auto buffer = asio::dynamic_buffer(answer);
    co_await asio::async_read(socket, buffer, asio::transfer_at_least(1),
                              asio::as_tuple(asio::use_awaitable));
    co_return answer;
  }

  /// An agent whose connection comes from another address of this machine.
  asio::awaitable<std::shared_ptr<Channel>> agent_from(asio::ip::address address) {
    tcp::socket socket = co_await connected(address);
    co_return std::make_shared<Channel>(std::move(socket));
  }

  asio::awaitable<tcp::socket> connected(asio::ip::address from) {
    tcp::socket socket{io_, tcp::endpoint{from, 0}};
    const tcp::endpoint server{kLoopback, server_->port()};
    co_await socket.async_connect(server, asio::use_awaitable);
    co_return socket;
  }

  /// Until the server closes the connection of `peer`, which says a byte now and then.
  asio::awaitable<void> closes_though_it_talks(tcp::socket& peer) {
    waiting_for_ = "the end of a connection that never joins";
    asio::steady_timer pause{io_};
    for (boost::system::error_code gone; !gone;) {
      const auto byte = asio::buffer("{", 1);
      const auto [error, size] =
          co_await asio::async_write(peer, byte, asio::as_tuple(asio::use_awaitable));
      gone = error;
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
  }
  asio::awaitable<void> closes(tcp::socket& peer) {
    waiting_for_ = "the end of a connection";
    char byte = 0;
    const auto buffer = asio::buffer(&byte, 1);
    const auto [error, size] =
        co_await asio::async_read(peer, buffer, asio::as_tuple(asio::use_awaitable));
    CHECK(error);
  }

  asio::awaitable<void> closes_after_its_answers(tcp::socket& peer) {
    waiting_for_ = "the end of a connection";
    std::array<char, 1024> bytes{};
    for (boost::system::error_code gone; !gone;) {
      const auto buffer = asio::buffer(bytes);
      const auto [error, size] =
          co_await peer.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
      gone = error;
    }
  }

  asio::awaitable<Identity> introduction(std::string run_id) {
    const auto stranger = co_await agent();
    const Identify question{run_id};
    say(*stranger, question);
    const auto answer = co_await must_hear<Identity>(*stranger);
    co_return answer;
  }

  asio::io_context io_;
  CoordinatorRules rules_;
  int joined_ = 0;
  std::string waiting_for_ = "nothing";
  std::unique_ptr<Server> server_;
};

}  // namespace ddprun
