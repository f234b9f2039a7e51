#include "rendezvous/transport/channel.hpp"

#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <new>
#include <utility>

#include "base/system/endpoint_text.hpp"
#include "rendezvous/transport/handshake_pool.hpp"

namespace ddprun {

namespace {

// A line waits for the frames that were written before it: about 1 ms for both of these together
// at 2.5 Gbit/s.
constexpr std::size_t kFrameBytesPerWrite = 128 * 1024;
constexpr int kUnsentBytesMax = 128 * 1024;  // in the kernel's send buffer

constexpr std::size_t kReadBytes = 64 * 1024;   // read at a time
constexpr std::size_t kBufferBytesKept = 4096;  // a connection that is silent keeps no more

}  // namespace

Channel::Channel(asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> tls)
    : socket_{std::move(socket)}, tls_{std::move(tls)} {
  boost::system::error_code gone;  // the first read notices it
  const auto remote = socket_.remote_endpoint(gone);
  peer_ = endpoint_text(remote);
  address_ = remote.address();
  is_local_ = !gone && socket_.local_endpoint(gone).address() == address_;
  socket_.set_option(asio::ip::tcp::no_delay{true}, gone);
  socket_.non_blocking(true, gone);
}

void Channel::carry(TunnelEnd* tunnel) {
  tunnel_ = tunnel;
  if (tunnel == nullptr) return;
  // Otherwise a line would wait for megabytes in the kernel's send buffer (tcp(7)).
  using UnsentMax = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
  boost::system::error_code ignored;  // where it cannot be set, a line waits longer
  socket_.set_option(UnsentMax{kUnsentBytesMax}, ignored);
}

void Channel::send(std::string_view line) try {
  if (!socket_.is_open() || closing_) return;
  outbox_ += line;
  if (outbox_.size() > kOutboxBytesMax) return close();
  if (sending_.empty()) write_next();
} catch (const std::bad_alloc&) {
  close();
}

void Channel::frames_wait() {
  if (!sending_.empty() || std::exchange(frames_wait_, true)) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->frames_wait_ = false;
    if (self->sending_.empty() && self->socket_.is_open()) self->write_next();
  });
}

/// No caller could do anything without memory, so this peer loses its connection, and the
/// connection's reader gets the error.
void Channel::write_next() try {
  if (!tls_ || tls_->established()) {
    sending_.swap(outbox_);
    if (tunnel_ != nullptr && !closing_)
      tunnel_->fill(sending_, sending_.size() + kFrameBytesPerWrite);
  }
  if (tls_ && !seal()) return close();
  if (sending_.empty()) {
    for (std::string* buffer : {&sending_, &outbox_})
      if (buffer->empty() && buffer->capacity() > kBufferBytesKept) *buffer = {};
    return;
  }
  asio::async_write(socket_, asio::buffer(sending_),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      self->sending_.clear();
                      if (error) return self->close();
                      if (self->closing_ && self->outbox_.empty()) return self->close();
                      self->write_next();
                    });
} catch (const std::bad_alloc&) {
  close();
}

/// Enciphers what is to be written. What the handshake has to say goes before it.
bool Channel::seal() {
  auto sealed = tls_->seal(sending_);
  if (sealed) sending_ = std::move(*sealed);
  return sealed.has_value();
}

asio::awaitable<Result<void>> Channel::secure(HandshakePool* pool) {
  const auto self = shared_from_this();
  if (tls_ && sending_.empty()) write_next();
  while (tls_ && !tls_->established()) {
    if (broken_) co_return *broken_;
    const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error) co_return Error{Error::Kind::kUnavailable, "connection closed"};
    if (pool == nullptr)
      take_available();
    else
      co_await take_available(*pool);
    if (!tls_->established() || !outbox_.empty()) say_what_waits();
  }
  co_return Result<void>{};
}

/// Takes what has arrived of a handshake, and has a thread of `pool` work it out.
asio::awaitable<void> Channel::take_available(HandshakePool& pool) {
  std::string bytes(kHandshakeBytesMax, '\0');
  bytes.resize(read_available(bytes).size());
  if (bytes.empty()) co_return;
  tls_->feed(bytes);
  co_await pool.run([this] { tls_->shake_hands(); });
  unseal();  // lines may have come with the end of the handshake
}

/// Sends what TLS has to say by itself, and lines that have waited for the end of the handshake.
void Channel::say_what_waits() {
  if (!sending_.empty() || !socket_.is_open()) return;
  if (tls_->waiting() > 0 || !outbox_.empty()) write_next();
}

asio::awaitable<Result<std::string>> Channel::receive() {
  const auto self = shared_from_this();
  if (tls_) say_what_waits();
  while (lines_.empty()) {
    if (broken_) co_return *broken_;
    const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error) co_return Error{Error::Kind::kUnavailable, "connection closed"};
    take_available();
    if (tls_) say_what_waits();
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  co_return line;
}

/// Reads what has arrived; nothing, when that is all.
std::string_view Channel::read_available(std::span<char> into) {
  boost::system::error_code error;
  const std::size_t size = socket_.read_some(asio::buffer(into.data(), into.size()), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return {};
  if (error) broken_ = Error{Error::Kind::kUnavailable, "connection closed"};
  return {into.data(), size};
}

/// Takes what has arrived. The buffer takes memory only during the call, because a coordinator has
/// thousands of agents that are usually silent.
void Channel::take_available() {
  std::array<char, kReadBytes> buffer;
  const std::string_view bytes = read_available(buffer);
  if (!bytes.empty()) take(bytes);
}

void Channel::take(std::string_view bytes) {
  if (!tls_) return consume(bytes);
  tls_->feed(bytes);
  unseal();
}

/// Deciphers what TLS was fed.
void Channel::unseal() {
  std::array<char, kReadBytes> plain;
  while (!broken_) {
    const Result<std::size_t> size = tls_->read(plain);
    if (!size) {
      broken_ = size.error();
      return say_why();
    }
    if (*size == 0) break;
    consume({plain.data(), *size});
  }
  if (tls_->waiting() > kReadBytes) broken_ = invalid("TLS asks for more than it takes");
}

/// Sends the alert that TLS ends with. The connection is about to be closed, so we do not wait for
/// it to leave.
void Channel::say_why() {
  const auto alert = tls_->seal({});
  boost::system::error_code ignored;  // then the peer does not learn why
  if (alert && sending_.empty()) socket_.write_some(asio::buffer(*alert), ignored);
}

/// Parses what has arrived so far, and keeps the line or frame that has only begun.
void Channel::consume(std::string_view bytes) {
  const bool begun = !inbox_.empty();
  if (begun) inbox_ += bytes;
  const Result<std::size_t> used = parse(begun ? inbox_ : bytes);
  if (!used) {
    broken_ = used.error();
    inbox_.clear();  // the lines in it are queued: read again, they would be heard without end
  } else if (begun) {
    inbox_.erase(0, *used);
  } else {
    inbox_ = bytes.substr(*used);
  }
  if (tunnel_ != nullptr) tunnel_->received_all();
}

/// Queues the lines in `bytes` and hands the frames to the tunnel. Returns how many bytes they
/// took.
Result<std::size_t> Channel::parse(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    const std::string_view rest = bytes.substr(used);
    const auto size = begins_frame(rest.front()) ? hand_over_frame(rest) : queue_line(rest);
    if (!size) return size.error();
    if (*size == 0) break;
    used += *size;
  }
  return used;
}

/// Returns the size of the frame that `bytes` begin with; 0 when it has not all come.
Result<std::size_t> Channel::hand_over_frame(std::string_view bytes) {
  const Result<FrameRead> read = read_frame(bytes);
  if (!read) return read.error();
  if (read->bytes == 0) return 0;
  if (tunnel_ == nullptr)
    return Error{Error::Kind::kInvalid, "a frame of a tunnel that is not there"};
  if (const auto taken = tunnel_->receive(read->frame); !taken) return taken.error();
  return read->bytes;
}

/// Returns the size of the line that `bytes` begin with; 0 when its end has not come.
Result<std::size_t> Channel::queue_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n', line_searched_);
  line_searched_ = end == std::string_view::npos ? bytes.size() : 0;
  if (std::min(end, bytes.size()) >= line_bytes_max_)
    return Error{Error::Kind::kInvalid,
                 "a line longer than " + std::to_string(line_bytes_max_) + " bytes"};
  if (end == std::string_view::npos) return 0;
  lines_.emplace_back(bytes.substr(0, end));
  return end + 1;
}

void Channel::close_when_sent(std::chrono::milliseconds at_most) {
  if (closing_ || !socket_.is_open()) return;
  closing_ = true;
  if (sending_.empty() && outbox_.empty()) return close();
  last_words_ = std::make_unique<asio::steady_timer>(socket_.get_executor(), at_most);
  last_words_->async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
    const auto channel = self.lock();
    if (channel && !cancelled) channel->close();
  });
}

void Channel::close() {
  last_words_.reset();
  boost::system::error_code ignored;  // a connection that cannot be closed is closed already
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace ddprun
