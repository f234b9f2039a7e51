#include "rendezvous/store_server.hpp"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

namespace ddprun {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

std::string numeric_address(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "an unknown address";
  const auto address = peer.address();
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
                : address.to_string();
}

}  // namespace

StoreServer::StoreServer(const asio::any_io_executor& executor, StoreLimits limits)
    : state_{limits}, timer_{executor} {}

StoreServer::~StoreServer() { close(); }

void StoreServer::adopt(tcp::socket socket, std::string_view already_read) {
  std::string address = numeric_address(socket);
  const ClientId id = ++last_id_;
  Owner& owner = *this;
  const auto connection =
      std::make_shared<StoreConnection>(std::move(socket), std::move(address), id, state_, owner);
  connections_.emplace(id, connection);
  connection->start(already_read);
  if (!connection->session().validated() && connections_.contains(id)) expect_validate(id);
}

void StoreServer::begin_round(std::size_t world_size) {
  close();
  state_.store.clear();
  state_.epochs = InitEpochs{world_size};
}

void StoreServer::close() {
  for (const auto& [id, connection] : connections_) connection->close();
  connections_.clear();
  newcomers_.clear();
  timer_.cancel();
}

void StoreServer::served(StoreConnection&) {
  Store& store = state_.store;
  while (store.has_ready()) {  // waking one may close it, which wakes nobody
    for (const ClientId id : store.take_ready()) {
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      const auto connection = found->second;
      connection->wake();
    }
  }
}

void StoreServer::failed(StoreConnection& connection, const Error& reason) {
  log_refusal(connection, reason.message);
  close_connection(connection.session().id());
}

void StoreServer::gone(StoreConnection& connection) {
  spdlog::debug("store: {} has disconnected", connection.session().address());
  close_connection(connection.session().id());
}

void StoreServer::close_connection(ClientId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto connection = std::move(found->second);
  connections_.erase(found);
  connection->close();
}

void StoreServer::log_refusal(const StoreConnection& connection, std::string_view reason) {
  const auto left_out = log_gate_.pass(std::chrono::steady_clock::now());
  if (!left_out) return;
  if (*left_out > 0) spdlog::info("store: closed {} more connections that misbehaved", *left_out);
  spdlog::info("store: closed the connection of {}: {}", connection.session().address(), reason);
}

void StoreServer::expect_validate(ClientId id) {
  newcomers_.push_back({id, std::chrono::steady_clock::now() + state_.limits.validate_timeout});
  drop_silent_newcomers();
  watch_newcomers();
}

void StoreServer::drop_silent_newcomers() {
  const auto now = std::chrono::steady_clock::now();
  while (!newcomers_.empty()) {
    const Newcomer oldest = newcomers_.front();
    const auto found = connections_.find(oldest.id);
    const bool settled = found == connections_.end() || found->second->session().validated();
    const bool too_many = newcomers_.size() > state_.limits.unvalidated_max;
    if (!settled && !too_many && oldest.deadline > now) return;
    newcomers_.pop_front();
    if (settled) continue;
    log_refusal(*found->second, too_many ? "too many connections have not begun to speak"
                                         : "it did not begin to speak in time");
    close_connection(oldest.id);
  }
}

void StoreServer::watch_newcomers() {
  if (timer_runs_ || newcomers_.empty()) return;
  timer_runs_ = true;
  timer_.expires_at(newcomers_.front().deadline);
  timer_.async_wait([this, alive = std::weak_ptr{alive_}](const boost::system::error_code&) {
    if (alive.expired()) return;
    timer_runs_ = false;
    drop_silent_newcomers();
    watch_newcomers();
  });
}

}  // namespace ddprun
