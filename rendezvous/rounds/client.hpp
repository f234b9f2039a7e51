// What an agent calls to reach the coordinator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/endpoint.hpp"
#include "rendezvous/rounds/connect_plan.hpp"
#include "rendezvous/wire/channel.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// Connects to the coordinator, and tries again as ConnectPlan says. Errors: kTimeout, naming the
/// endpoint and why the last attempt failed.
asio::awaitable<Result<std::shared_ptr<Channel>>> connect(Endpoint coordinator, Patience patience);

/// Whose coordinator listens there; nullopt when it is no coordinator, or does not say so within
/// 2 s.
asio::awaitable<std::optional<Introduction>> who_is_at(Endpoint endpoint);

}  // namespace ddprun
