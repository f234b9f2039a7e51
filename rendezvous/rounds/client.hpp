// What an agent calls to reach the coordinator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/endpoint.hpp"
#include "rendezvous/wire/channel.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

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
asio::awaitable<std::optional<Introduction>> who_is_at(Endpoint endpoint);

}  // namespace ddprun
