#include "rendezvous/channel.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/messages.hpp"

namespace ddprun {

Channel::Channel(asio::ip::tcp::socket socket, std::string already_read)
    : socket_{std::move(socket)}, inbox_{std::move(already_read)} {
  boost::system::error_code gone;  // noticed by the first read
  const auto remote = socket_.remote_endpoint(gone);
  peer_ = endpoint_text(remote);
  address_ = remote.address();
  socket_.set_option(asio::ip::tcp::no_delay{true}, gone);
}

void Channel::send(std::string_view line) {
  if (!socket_.is_open() || closing_) return;
  outbox_ += line;
  if (outbox_.size() > kOutboxBytesMax) return close();
  if (sending_.empty()) write_next();
}

void Channel::write_next() {
  sending_ = std::exchange(outbox_, {});
  asio::async_write(socket_, asio::buffer(sending_),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      self->sending_.clear();
                      if (error) return self->close();
                      if (!self->outbox_.empty()) return self->write_next();
                      if (self->closing_) self->close();
                    });
}

asio::awaitable<Result<std::string>> Channel::receive() {
  const auto self = shared_from_this();
  const auto [error, bytes] =
      co_await asio::async_read_until(socket_, asio::dynamic_buffer(inbox_, kLineBytesMax), '\n',
                                      asio::as_tuple(asio::use_awaitable));
  if (error == asio::error::not_found)
    co_return Error{Error::Kind::kInvalid,
                    "a line longer than " + std::to_string(kLineBytesMax) + " bytes"};
  if (error) co_return Error{Error::Kind::kUnavailable, "connection closed"};
  std::string line = inbox_.substr(0, bytes - 1);
  inbox_.erase(0, bytes);
  co_return line;
}

void Channel::close_when_sent() {
  closing_ = true;
  if (sending_.empty() && outbox_.empty()) close();
}

void Channel::close() {
  boost::system::error_code ignored;  // closing cannot be answered better than by closing
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace ddprun
