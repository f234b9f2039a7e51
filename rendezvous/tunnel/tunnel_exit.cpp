#include "rendezvous/tunnel/tunnel_exit.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"

namespace ddprun {

TunnelExit::TunnelExit(std::shared_ptr<Channel> agent, StoreServer& store,
                       std::function<bool(std::uint32_t round)> is_current)
    : agent_{std::move(agent)}, store_{store}, is_current_{std::move(is_current)} {
  agent_->carry(this);
}

TunnelExit::~TunnelExit() {
  agent_->carry(nullptr);
  while (!clients_.empty()) store_.close_connection(clients_.begin()->second->session().id());
}

Result<void> TunnelExit::receive(const TunnelFrame& frame) {
  if (outbox_.overfull())
    return Error{Error::Kind::kInvalid, "it lets its store clients' frames pile up"};
  // A client that is not there has been closed meanwhile.
  return match(
      frame,  //
      [&](const TunnelOpen& f) { return open(f); },
      [&](const TunnelData& f) -> Result<void> {
        Client* const client = find(f.client);
        if (client == nullptr) return {};
        if (auto expected = client->expects(f.bytes.size()); !expected) return expected;
        store_.received(*client, f.bytes);
        return {};
      },
      [&](const TunnelCredit& f) -> Result<void> {
        Client* const client = find(f.client);
        return client == nullptr ? Result<void>{} : client->granted(f.bytes);
      },
      [&](const TunnelClose& f) -> Result<void> {
        if (Client* const client = find(f.client)) store_.close_connection(client->session().id());
        return {};
      });
}

Result<void> TunnelExit::open(const TunnelOpen& frame) {
  if (clients_.contains(frame.client))
    return Error{Error::Kind::kInvalid,
                 "store client " + std::to_string(frame.client) + " has connected twice"};
  if (clients_.size() >= kTunnelClientsMax)
    return Error{Error::Kind::kInvalid,
                 "more than " + std::to_string(kTunnelClientsMax) + " store clients of one node"};
  if (!is_current_(frame.round)) {
    say(TunnelClose{frame.client});
    return {};
  }
  store_.adopt([&](ClientId id, StoreState& state) {
    auto client = std::make_unique<Client>(*this, frame.client, id, state);
    clients_.emplace(frame.client, client.get());
    return client;
  });
  return {};
}

void TunnelExit::fill(std::string& out, std::size_t bytes_max) {
  outbox_.fill(out, bytes_max, [&](TunnelClientId number, std::size_t turn, std::string& frames) {
    Client* const client = find(number);
    return client != nullptr && client->take_turn(turn, frames);
  });
}

TunnelExit::Client* TunnelExit::find(TunnelClientId number) const {
  const auto found = clients_.find(number);
  return found == clients_.end() ? nullptr : found->second;
}

void TunnelExit::forget(TunnelClientId number) {
  clients_.erase(number);
  say(TunnelClose{number});
}

void TunnelExit::say(const TunnelFrame& frame) {
  outbox_.say(frame);
  agent_->frames_wait();
}

// The agent's port belongs to the address, so that it distinguishes two nodes behind one address.
TunnelExit::Client::Client(TunnelExit& tunnel, TunnelClientId number, ClientId id,
                           StoreState& state)
    : StoreConnection{id, tunnel.agent_->peer(), state}, tunnel_{tunnel}, number_{number} {}

Result<void> TunnelExit::Client::received(std::string_view bytes) {
  held_ += bytes.size();
  auto served = session().received(bytes);
  release_held();
  return served;
}

// Serves what has come while the client did not read its replies.
Result<void> TunnelExit::Client::read(std::span<char>) {
  if (!unfinished()) return {};
  auto served = session().proceed();
  release_held();
  return served;
}

// There is no credit while the session is paused: what has come may not have been served.
void TunnelExit::Client::release_held() {
  if (session().paused()) return;
  if (const std::uint32_t credit = window_.dealt_with(std::exchange(held_, 0)))
    tunnel_.say(TunnelCredit{number_, credit});
}

Result<void> TunnelExit::Client::granted(std::size_t bytes) {
  auto granted = window_.granted(bytes);
  if (granted) flush();
  return granted;
}

void TunnelExit::Client::flush() {
  if (!can_send() || std::exchange(waits_, true)) return;
  tunnel_.outbox_.has_bytes(number_);
  tunnel_.agent_->frames_wait();
}

bool TunnelExit::Client::take_turn(std::size_t bytes_max, std::string& out) {
  const std::string_view bytes =
      session().output().substr(0, std::min(bytes_max, window_.credit()));
  write_frame(out, TunnelData{number_, bytes});
  session().sent(bytes.size());
  window_.sent(bytes.size());
  waits_ = can_send();
  if (unfinished()) tunnel_.store_.go_on_soon(*this);
  return waits_;
}

}  // namespace ddprun
