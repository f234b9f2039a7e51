#include "rendezvous/store/store_server.hpp"

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/system/endpoint_text.hpp"
#include "rendezvous/store/store_socket.hpp"

namespace ddprun {

using asio::ip::tcp;

namespace {

constexpr std::size_t kEventsPerTurn = 256;
constexpr std::size_t kScratchBytes = std::size_t{16} << 10;

/// Performs what one client asks for. When there is no memory for it, that client has asked for too
/// much, and the others are served as before.
template <typename Serve>
Result<void> with_memory(Serve serve) try {
  return serve();
} catch (const std::bad_alloc&) {
  return Error{Error::Kind::kUnavailable, "there is no memory left for what it asks"};
} catch (const std::length_error&) {
  return Error{Error::Kind::kUnavailable, "there is no memory for as much as it asks"};
}

std::string numeric_address(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "an unknown address";
  return unmapped(peer.address()).to_string();
}

}  // namespace

StoreServer::StoreServer(const asio::any_io_executor& executor, StoreLimits limits,
                         std::shared_ptr<StoreBudget> whole)
    : state_{limits, std::move(whole)}, timer_{executor}, poll_{executor} {}

void StoreServer::adopt(tcp::socket socket) {
  const std::string address = numeric_address(socket);
  boost::system::error_code error;
  const int descriptor = socket.release(error);
  if (error) return log::debug("store: {} is gone already: {}", address, error.message());
  const ClientId id = ++last_id_;
  auto connection = std::make_unique<StoreSocket>(descriptor, poll_, id, address, state_);
  if (!poll_.watch(descriptor, id))
    return log::warn("store: cannot serve {}: {}", address, std::strerror(errno));
  connections_.emplace(id, std::move(connection));
  expect_validate(id);
  expect_turn();
}

StoreConnection& StoreServer::adopt(const MakeConnection& make) {
  const ClientId id = ++last_id_;
  StoreConnection& connection = *connections_.emplace(id, make(id, state_)).first->second;
  expect_validate(id);
  return connection;
}

void StoreServer::received(StoreConnection& connection, std::string_view bytes) {
  served(connection, with_memory([&] { return connection.received(bytes); }));
}

void StoreServer::flush() {
  flush_touched();
  expect_turn();
}

void StoreServer::go_on_soon(StoreConnection& connection) {
  give_turn(connection);
  expect_turn();
}

void StoreServer::begin_round(std::size_t world_size) {
  close();
  state_.store.clear();
  state_.epochs = InitEpochs{world_size};
}

void StoreServer::close() {
  while (!connections_.empty()) close_connection(connections_.begin()->first);
  queue_.clear();
  touched_.clear();
  newcomers_.clear();
  timer_.cancel();
}

StoreConnection* StoreServer::find(ClientId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

void StoreServer::take_turn() {
  std::array<epoll_event, kEventsPerTurn> events;
  for (const epoll_event& event : poll_.take(events)) {
    if (StoreConnection* connection = find(event.data.u64)) {
      connection->notice(event.events);
      give_turn(*connection);
    }
  }
  std::array<char, kScratchBytes> scratch;
  for (const ClientId id : std::exchange(queue_, {})) {
    if (StoreConnection* connection = find(id)) {
      connection->queued = false;
      served(*connection, with_memory([&] { return connection->read(scratch); }));
    }
  }
  flush_touched();
  expect_turn();
}

void StoreServer::give_turn(StoreConnection& connection) {
  if (!std::exchange(connection.queued, true)) queue_.push_back(connection.session().id());
}

// Waits for nothing when no socket is watched and no connection waits for its turn, so that the
// event loop may end.
void StoreServer::expect_turn() {
  if (!queue_.empty()) {
    if (std::exchange(turn_posted_, true)) return;
    asio::post(timer_.get_executor(), [this, alive = std::weak_ptr{alive_}] {
      if (alive.expired()) return;
      turn_posted_ = false;
      take_turn();
    });
  } else if (!poll_.empty() && !std::exchange(polling_, true)) {
    poll_.async_wait([this, alive = std::weak_ptr{alive_}](const boost::system::error_code&) {
      if (alive.expired()) return;
      polling_ = false;
      take_turn();
    });
  }
}

void StoreServer::served(StoreConnection& connection, const Result<void>& result) {
  touch(connection);
  if (!result) {
    log_refusal(connection, result.error().message);
    close_connection(connection.session().id());
  } else if (connection.gone()) {
    log::debug("store: {} has disconnected", connection.session().address());
    close_connection(connection.session().id());
  }
  if (!state_.store.has_ready()) return;
  for (const ClientId id : state_.store.take_ready()) {
    StoreConnection* const woken = find(id);
    if (woken == nullptr) continue;
    woken->session().settle();
    touch(*woken);
  }
}

void StoreServer::touch(StoreConnection& connection) {
  if (!std::exchange(connection.touched, true)) touched_.push_back(connection.session().id());
}

void StoreServer::flush_touched() {
  for (const ClientId id : std::exchange(touched_, {})) {
    StoreConnection* const connection = find(id);
    if (connection == nullptr) continue;
    connection->touched = false;
    connection->flush();
    if (connection->gone()) {
      close_connection(id);
    } else if (connection->unfinished()) {
      give_turn(*connection);
    }
  }
}

void StoreServer::close_connection(ClientId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto connection = std::move(found->second);  // its destructor may call us
  connections_.erase(found);
}

void StoreServer::log_refusal(StoreConnection& connection, std::string_view reason) {
  refused_.say("store: closed the connection of {}: {}", connection.session().address(), reason);
}

void StoreServer::expect_validate(ClientId id) {
  newcomers_.push_back({id, Clock::now() + state_.limits.validate_timeout});
  drop_silent_newcomers();
  watch_newcomers();
}

void StoreServer::drop_silent_newcomers() {
  const auto now = Clock::now();
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
