#include "rendezvous/tunnel/tunnel_entrance.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/coroutines.hpp"
#include "base/match.hpp"
#include "base/system/accept.hpp"

namespace ddprun {

using asio::ip::tcp;

constexpr std::size_t kEventsPerTurn = 256;
constexpr char kClosed[] = "closed a connection to the store: {}";

TunnelEntrance::TunnelEntrance(const asio::any_io_executor& executor,
                               std::shared_ptr<Channel> coordinator, TunnelLimits limits)
    : executor_{executor}, coordinator_{std::move(coordinator)}, limits_{limits}, poll_{executor} {
  coordinator_->carry(this);
}

TunnelEntrance::~TunnelEntrance() { coordinator_->carry(nullptr); }

Result<std::uint16_t> TunnelEntrance::open(int round, std::uint16_t at) {
  close();
  auto acceptor = listen_on(executor_, {asio::ip::address_v4::loopback(), at});
  if (!acceptor)
    return Error{acceptor.error().kind, "for the workers' store: " + acceptor.error().message};
  acceptor_ = std::make_shared<tcp::acceptor>(std::move(*acceptor));
  start_coroutine(executor_, let_in_all(acceptor_, static_cast<std::uint32_t>(round)),
                  report_failure("the way to the store"));
  return acceptor_->local_endpoint().port();
}

void TunnelEntrance::close() {
  boost::system::error_code ignored;
  if (acceptor_) acceptor_->close(ignored);
  acceptor_.reset();
  while (!clients_.empty()) drop(clients_.begin()->first);
}

asio::awaitable<void> TunnelEntrance::let_in_all(Acceptor acceptor, std::uint32_t round) {
  const auto self = shared_from_this();
  const std::function<void(tcp::socket)> let_one_in = [&](tcp::socket socket) {
    if (acceptor == acceptor_)
      let_in(std::move(socket), round);  // else it came when the round had ended
  };
  co_await accept_all(*acceptor, let_one_in);
}

void TunnelEntrance::let_in(tcp::socket socket, std::uint32_t round) {
  if (clients_.size() >= limits_.clients_max || outbox_.overfull())
    return closed_.say(kClosed, "there are too many at once");
  boost::system::error_code gone;
  const int descriptor = socket.release(gone);
  if (gone) return;
  while (clients_.contains(++last_number_)) continue;
  const TunnelClientId number = last_number_;
  clients_.emplace(number, std::make_unique<Client>(descriptor));
  outbox_.say(TunnelOpen{number, round});
  if (!poll_.watch(descriptor, number)) {
    closed_.say(kClosed, std::strerror(errno));
    return drop(number);
  }
  coordinator_->frames_wait();
  expect_turn();
}

void TunnelEntrance::expect_turn() {
  if (poll_.empty() || std::exchange(polling_, true)) return;
  poll_.async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const auto self = weak.lock();
    if (!self) return;
    self->polling_ = false;
    self->take_turn();
  });
}

void TunnelEntrance::take_turn() {
  std::array<epoll_event, kEventsPerTurn> events;
  for (const epoll_event& event : poll_.take(events)) {
    const auto number = static_cast<TunnelClientId>(event.data.u64);
    Client* const client = find(number);
    if (client == nullptr) continue;
    client->socket.notice(event.events);
    wait_for_turn(number, *client);
    if (!client->unread.empty()) deliver_unread(number, *client);
  }
  expect_turn();
}

void TunnelEntrance::wait_for_turn(TunnelClientId number, Client& client) {
  if (!client.can_send() || std::exchange(client.waits, true)) return;
  outbox_.has_bytes(number);
  coordinator_->frames_wait();
}

void TunnelEntrance::fill(std::string& out, std::size_t bytes_max) {
  outbox_.fill(out, bytes_max, [&](TunnelClientId number, std::size_t turn, std::string& frames) {
    return take_bytes(number, turn, frames);
  });
}

bool TunnelEntrance::take_bytes(TunnelClientId number, std::size_t bytes_max, std::string& out) {
  Client* const client = find(number);
  if (client == nullptr) return false;
  std::array<char, kFramePayloadBytesMax> scratch;
  const std::size_t bytes = client->socket.receive(
      std::span{scratch}.first(std::min(bytes_max, client->window.credit())));
  if (bytes > 0) write_frame(out, TunnelData{number, {scratch.data(), bytes}});
  client->window.sent(bytes);
  client->waits = client->can_send();
  if (!client->socket.gone()) return client->waits;
  drop(number);
  return false;
}

Result<void> TunnelEntrance::receive(const TunnelFrame& frame) {
  return match(
      frame,  //
      [](const TunnelOpen&) -> Result<void> {
        return Error{Error::Kind::kInvalid, "the coordinator cannot be a client of the store"};
      },
      [&](const TunnelData& f) { return deliver(f.client, f.bytes); },
      [&](const TunnelCredit& f) -> Result<void> {
        Client* const client = find(f.client);
        if (client == nullptr) return {};
        auto granted = client->window.granted(f.bytes);
        if (granted) wait_for_turn(f.client, *client);
        return granted;
      },
      [&](const TunnelClose& f) -> Result<void> {
        coordinator_closed(f.client);
        return {};
      });
}

Result<void> TunnelEntrance::deliver(TunnelClientId number, std::string_view bytes) {
  Client* const client = find(number);
  if (client == nullptr) return {};
  if (auto expected = client->window.received(bytes.size()); !expected) return expected;
  const bool at_once = client->unread.empty() && client->socket.writable();
  const std::size_t sent = at_once ? client->socket.send(bytes) : 0;
  if (client->socket.gone()) {
    drop(number);
    return {};
  }
  dealt_with(number, *client, sent);
  const std::string_view rest = bytes.substr(sent);
  if (unread_bytes_ + rest.size() > limits_.unread_bytes_max) {
    closed_.say(kClosed, "workers of this node leave too many replies unread");
    drop(number);
    return {};
  }
  client->unread += rest;
  unread_bytes_ += rest.size();
  return {};
}

void TunnelEntrance::deliver_unread(TunnelClientId number, Client& client) {
  std::size_t sent = 0;
  while (sent < client.unread.size() && client.socket.writable() && !client.socket.gone())
    sent += client.socket.send(std::string_view{client.unread}.substr(sent));
  client.unread.erase(0, sent);
  unread_bytes_ -= sent;
  dealt_with(number, client, sent);
  const bool all = client.unread.empty();
  if (all) client.unread = {};
  if (client.socket.gone() || (all && client.finished)) drop(number);
}

void TunnelEntrance::dealt_with(TunnelClientId number, Client& client, std::size_t bytes) {
  const std::uint32_t credit = client.window.dealt_with(bytes);
  if (credit == 0) return;
  outbox_.say(TunnelCredit{number, credit});
  coordinator_->frames_wait();
}

void TunnelEntrance::coordinator_closed(TunnelClientId number) {
  Client* const client = find(number);
  if (client == nullptr) return;
  client->finished = true;
  if (client->unread.empty()) drop(number);
}

void TunnelEntrance::drop(TunnelClientId number) {
  const auto found = clients_.find(number);
  poll_.forget(found->second->socket.descriptor());
  unread_bytes_ -= found->second->unread.size();
  clients_.erase(found);
  outbox_.say(TunnelClose{number});
  coordinator_->frames_wait();
}

TunnelEntrance::Client* TunnelEntrance::find(TunnelClientId number) const {
  const auto found = clients_.find(number);
  return found == clients_.end() ? nullptr : found->second.get();
}

}  // namespace ddprun
