#include "agent/checkpoints/part_server.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/coroutines.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/system/accept.hpp"
#include "base/system/fresh_names.hpp"
#include "rendezvous/transport/channel.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

/// A client that asks for nothing, or takes nothing, is not waited for longer.
constexpr std::chrono::seconds kClientPatience{60};

/// Where there is no IPv6, that is all.
Result<tcp::acceptor> listen_anywhere(asio::io_context& io) {
  auto both = listen_on(io.get_executor(), {asio::ip::address_v6::any(), 0});
  if (both) return both;
  return listen_on(io.get_executor(), {asio::ip::address_v4::any(), 0});
}

}  // namespace

/// Sends a text or a file, as frames.
class PartServer::Sender : public TunnelEnd {
 public:
  Sender(Channel& channel, const asio::any_io_executor& executor)
      : channel_{channel}, news_{executor, TimePoint::max()} {}

  void begin(std::string text) {
    file_ = Descriptor{};
    text_ = std::move(text);
    begin_with(text_.size());
  }
  void begin(Descriptor file, std::size_t bytes) {
    file_ = std::move(file);
    begin_with(bytes);
  }

  /// Waits until all is sent. Returns how much was.
  asio::awaitable<std::size_t> sent() {
    while (left_ > 0 && !failed_) {
      const std::size_t before = sent_;
      news_.expires_after(kClientPatience);
      const auto [woken] = co_await news_.async_wait(asio::as_tuple(asio::use_awaitable));
      if (!woken && sent_ == before) break;
    }
    left_ = 0;
    co_return sent_;
  }

  Result<void> receive(const TunnelFrame&) override { return invalid("nothing is taken here"); }
  void received_all() override {}

  void fill(std::string& out, std::size_t bytes_max) override {
    if (left_ == 0) return;
    while (left_ > 0 && !failed_ && out.size() < bytes_max) {
      const std::string_view piece = next();
      failed_ = piece.empty();
      if (failed_) break;
      write_frame(out, TunnelData{0, piece});
      sent_ += piece.size();
      left_ -= piece.size();
    }
    if (left_ == 0 || failed_) news_.cancel();
  }

 private:
  void begin_with(std::size_t bytes) {
    left_ = bytes;
    sent_ = 0;
    failed_ = false;
    if (left_ > 0) channel_.frames_wait();
  }

  /// "": the file is shorter than it was.
  std::string_view next() {
    const std::size_t wanted = std::min(left_, buffer_.size());
    if (!file_.is_open()) return std::string_view{text_}.substr(sent_, wanted);
    const ssize_t bytes = ::read(file_.number(), buffer_.data(), wanted);
    return {buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
  }

  Channel& channel_;
  asio::steady_timer news_;
  std::string text_;
  Descriptor file_;
  std::size_t left_ = 0;
  std::size_t sent_ = 0;
  bool failed_ = false;
  std::array<char, kFramePayloadBytesMax> buffer_{};
};

/// One client's.
class PartServer::Place {
 public:
  explicit Place(int& clients) : clients_{clients} { ++clients_; }
  ~Place() { --clients_; }
  Place(const Place&) = delete;

 private:
  int& clients_;
};

Result<std::unique_ptr<PartServer>> PartServer::start(const asio::any_io_executor& home,
                                                      std::shared_ptr<const TlsContext> tls) {
  auto server = std::unique_ptr<PartServer>{new PartServer{home, std::move(tls)}};
  if (server->ticket_.empty())
    return Error{Error::Kind::kUnavailable, "the system has no random numbers"};
  auto acceptor = listen_anywhere(server->io_);
  if (!acceptor) return acceptor.error();
  server->port_ = acceptor->local_endpoint().port();
  asio::post(server->io_, [&own = *server, listens = std::move(*acceptor)]() mutable {
    own.acceptor_ = std::move(listens);
    start_coroutine(
        own.io_,
        accept_all(own.acceptor_, [&own](tcp::socket socket) { own.serve_one(std::move(socket)); }),
        report_failure("giving parts of checkpoints"));
  });
  return server;
}

PartServer::PartServer(const asio::any_io_executor& home, std::shared_ptr<const TlsContext> tls)
    : tls_{std::move(tls)}, ticket_{fresh_token()}, thread_{io_, home} {}

/// What is being sent is not waited for.
PartServer::~PartServer() { thread_.end_within(std::chrono::milliseconds{0}); }

void PartServer::offer(std::vector<Offer> parts) {
  std::vector<std::shared_ptr<const Offer>> offers;
  for (Offer& part : parts) offers.push_back(std::make_shared<const Offer>(std::move(part)));
  const std::lock_guard lock{mutex_};
  offers_ = std::move(offers);
}

Result<std::shared_ptr<const PartServer::Offer>> PartServer::find(
    const PartRequest& request) const {
  if (request.ticket != ticket_) return Error{Error::Kind::kDenied, "it shows another ticket"};
  const std::lock_guard lock{mutex_};
  for (const auto& offer : offers_)
    if (is_part(offer->part, request.number, request.part, request.parts)) return offer;
  return Error{Error::Kind::kUnavailable, "part " + std::to_string(request.part) +
                                              " of checkpoint " + std::to_string(request.number) +
                                              " is not here any more"};
}

void PartServer::serve_one(tcp::socket socket) {
  if (clients_ >= kPartClientsMax) return;
  start_coroutine(io_, serve(std::move(socket)), give_up_peer("who asks for a checkpoint"));
}

asio::awaitable<void> PartServer::serve(tcp::socket socket) {
  const Place place{clients_};
  const auto channel = std::make_shared<Channel>(
      std::move(socket), tls_ ? std::make_unique<TlsSession>(tls_) : nullptr);
  channel->limit_lines(kPartLineBytesMax);
  Sender sender{*channel, io_.get_executor()};
  channel->carry(&sender);
  for (;;) {
    const TimePoint deadline = Clock::now() + kClientPatience;
    const auto line = co_await in_time(deadline, channel->receive());
    if (!line || !*line) break;
    const auto request = read_part_request(**line);
    if (!request) break;
    const PartAnswer said = co_await answer(sender, *request);
    channel->send(to_line(said));
    if (!said.error.empty()) break;
  }
  channel->carry(nullptr);
  channel->close_when_sent();
}

asio::awaitable<PartAnswer> PartServer::answer(Sender& sender, const PartRequest& request) {
  const auto offer = find(request);
  if (!offer) co_return PartAnswer{.bytes = 0, .error = offer.error().message};
  std::size_t wanted = 0;
  if (request.file.empty()) {
    std::string text = to_text((*offer)->part);
    wanted = text.size();
    sender.begin(std::move(text));
  } else {
    const KeptFile* const listed = find_file((*offer)->part, request.file);
    if (listed == nullptr) co_return PartAnswer{.bytes = 0, .error = "there is no such file"};
    const std::filesystem::path path = (*offer)->files / listed->facts.path;
    Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    if (!file.is_open()) co_return PartAnswer{.bytes = 0, .error = "it is not there any more"};
    wanted = static_cast<std::size_t>(listed->facts.bytes);
    sender.begin(std::move(file), wanted);
  }
  const std::size_t sent = co_await sender.sent();
  PartAnswer said{.bytes = static_cast<std::int64_t>(sent), .error = ""};
  if (sent < wanted) said.error = "it was not sent to its end";
  co_return said;
}

}  // namespace ddprun
