#include "rendezvous/wire/channel.hpp"

#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/endpoint_text.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

namespace {

/// What goes into the kernel's buffers before a line that comes next: 1 ms at 2.5 Gbit/s.
constexpr std::size_t kFrameBytesPerWrite = 128 * 1024;
constexpr int kUnsentBytesMax = 128 * 1024;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kBufferBytesKept = 4096;  // of a connection with nothing to say

}  // namespace

Channel::Channel(asio::ip::tcp::socket socket, std::string already_read)
    : socket_{std::move(socket)}, inbox_{std::move(already_read)} {
  boost::system::error_code gone;  // noticed by the first read
  const auto remote = socket_.remote_endpoint(gone);
  peer_ = endpoint_text(remote);
  address_ = remote.address();
  socket_.set_option(asio::ip::tcp::no_delay{true}, gone);
  socket_.non_blocking(true, gone);
}

void Channel::carry(TunnelEnd* tunnel) {
  tunnel_ = tunnel;
  if (tunnel == nullptr) return;
  // Otherwise a line would wait for megabytes in the kernel's send buffer (tcp(7)).
  using UnsentMax = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
  boost::system::error_code ignored;  // then they wait
  socket_.set_option(UnsentMax{kUnsentBytesMax}, ignored);
}

void Channel::send(std::string_view line) {
  if (!socket_.is_open() || closing_) return;
  outbox_ += line;
  if (outbox_.size() > kOutboxBytesMax) return close();
  if (sending_.empty()) write_next();
}

void Channel::frames_wait() {
  if (!sending_.empty() || std::exchange(frames_wait_, true)) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->frames_wait_ = false;
    if (self->sending_.empty() && self->socket_.is_open()) self->write_next();
  });
}

void Channel::write_next() {
  sending_.swap(outbox_);
  if (tunnel_ != nullptr && !closing_)
    tunnel_->fill(sending_, sending_.size() + kFrameBytesPerWrite);
  if (sending_.empty()) {
    if (sending_.capacity() > kBufferBytesKept) sending_ = {};
    return;
  }
  asio::async_write(socket_, asio::buffer(sending_),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      self->sending_.clear();
                      if (error) return self->close();
                      if (self->closing_ && self->outbox_.empty()) return self->close();
                      self->write_next();
                    });
}

asio::awaitable<Result<std::string>> Channel::receive() {
  const auto self = shared_from_this();
  if (!inbox_.empty() && lines_.empty()) deal_with({});
  while (lines_.empty()) {
    if (broken_) co_return *broken_;
    const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error) co_return Error{Error::Kind::kUnavailable, "connection closed"};
    take();
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  co_return line;
}

/// What has arrived, up to a buffer full that takes memory only now: a coordinator has thousands of
/// silent agents.
void Channel::take() {
  std::array<char, kReadBytes> bytes;
  boost::system::error_code error;
  const std::size_t size = socket_.read_some(asio::buffer(bytes), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return;
  if (error)
    broken_ = Error{Error::Kind::kUnavailable, "connection closed"};
  else
    deal_with({bytes.data(), size});
}

void Channel::deal_with(std::string_view bytes) {
  const bool begun = !inbox_.empty();
  if (begun) inbox_ += bytes;
  const Result<std::size_t> used = cut(begun ? inbox_ : bytes);
  if (!used)
    broken_ = used.error();
  else if (begun)
    inbox_.erase(0, *used);
  else
    inbox_ = bytes.substr(*used);
  if (tunnel_ != nullptr) tunnel_->received_all();
}

/// Lines are queued, frames are handed over. How many bytes that were.
Result<std::size_t> Channel::cut(std::string_view bytes) {
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

Result<std::size_t> Channel::hand_over_frame(std::string_view bytes) {
  const Result<FrameRead> read = read_frame(bytes);
  if (!read) return read.error();
  if (read->bytes == 0) return 0;
  if (tunnel_ == nullptr)
    return Error{Error::Kind::kInvalid, "a frame of a tunnel that is not there"};
  if (const auto taken = tunnel_->receive(read->frame); !taken) return taken.error();
  return read->bytes;
}

Result<std::size_t> Channel::queue_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n', line_searched_);
  line_searched_ = end == std::string_view::npos ? bytes.size() : 0;
  if (std::min(end, bytes.size()) >= kLineBytesMax)
    return Error{Error::Kind::kInvalid,
                 "a line longer than " + std::to_string(kLineBytesMax) + " bytes"};
  if (end == std::string_view::npos) return 0;
  lines_.emplace_back(bytes.substr(0, end));
  return end + 1;
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
