// What an agent calls to reach the coordinator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "rendezvous/channel.hpp"
#include "rendezvous/messages.hpp"

namespace ddprun {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// How long to go on trying.
struct Patience {
  std::chrono::milliseconds any;      // whatever the reason
  std::chrono::milliseconds refused;  // while the host is there and nobody listens
};

/// Connects to the coordinator, trying again with growing pauses. Errors: kTimeout, naming the
/// endpoint and the last reason.
asio::awaitable<Result<std::shared_ptr<Channel>>> connect(Endpoint coordinator, Patience patience);

/// Whose coordinator listens there; nullopt when it is no coordinator, or does not say so within
/// 2 s.
asio::awaitable<std::optional<Coordinator>> who_is_at(Endpoint endpoint);

}  // namespace ddprun
