#include "rendezvous/store_connection.hpp"

#include <netinet/tcp.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace ddprun {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A worker whose machine has gone says nothing; two minutes later its connection is closed.
void watch_for_dead_peers(tcp::socket& socket) {
  using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using KeepInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using KeepCount = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  boost::system::error_code ignored;
  socket.set_option(asio::socket_base::keep_alive{true}, ignored);
  socket.set_option(KeepIdle{60}, ignored);
  socket.set_option(KeepInterval{15}, ignored);
  socket.set_option(KeepCount{4}, ignored);
}

}  // namespace

StoreConnection::StoreConnection(tcp::socket socket, std::string address, ClientId id,
                                 StoreState& state, Owner& owner)
    : socket_{std::move(socket)}, session_{id, std::move(address), state}, owner_{owner} {
  boost::system::error_code ignored;  // a socket that is broken already fails at the first read
  socket_.set_option(tcp::no_delay{true}, ignored);
  socket_.non_blocking(true, ignored);
  watch_for_dead_peers(socket_);
}

void StoreConnection::start(std::string_view already_read) {
  after(session_.received(already_read));
}

void StoreConnection::wake() {
  if (closed_) return;
  session_.settle();
  flush();
}

void StoreConnection::close() {
  if (std::exchange(closed_, true)) return;
  session_.leave();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void StoreConnection::read() {
  if (closed_ || reading_) return;
  reading_ = true;
  const std::span<char> room = session_.room();
  socket_.async_read_some(
      asio::buffer(room.data(), room.size()),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->reading_ = false;
        if (self->closed_) return;
        if (error) return self->owner_.gone(*self);
        self->after(self->session_.received(bytes));
      });
}

void StoreConnection::after(const Result<void>& served) {
  owner_.served(*this);
  if (!served) return owner_.failed(*this, served.error());
  flush();
  if (session_.paused()) return go_on_later();
  read();
}

// Most replies fit into the socket's buffer, so it is tried first, without the event loop.
void StoreConnection::flush() {
  if (closed_ || writing_ || session_.output().empty()) return;
  boost::system::error_code error;
  const std::string_view output = session_.output();
  const std::size_t sent = socket_.write_some(asio::buffer(output.data(), output.size()), error);
  if (error && error != asio::error::would_block) return owner_.gone(*this);
  session_.sent(sent);
  if (!session_.output().empty()) flush_when_writable();
}

// Only waits: a buffer handed to the event loop would have to stay where it is meanwhile.
void StoreConnection::flush_when_writable() {
  writing_ = true;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (self->closed_) return;
                       if (error) return self->owner_.gone(*self);
                       self->flush();
                       if (self->session_.paused()) self->go_on_later();
                     });
}

// The session has stopped before all it was sent, until the client reads. Others have their turn
// before it goes on.
void StoreConnection::go_on_later() {
  if (closed_ || session_.must_drain()) return;  // flush_when_writable() comes back here
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_ && self->session_.paused()) self->after(self->session_.proceed());
  });
}

}  // namespace ddprun
