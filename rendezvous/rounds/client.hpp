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

/// Connects to the coordinator, and tries again as ConnectPlan says. With `tls`, a connection is
/// one only when both ends have proven to have the secret. Errors: kTimeout, naming the endpoint
/// and why the last attempt failed; kDenied, at once, when the coordinator has another secret or
/// none.
asio::awaitable<Result<std::shared_ptr<Channel>>> connect(
    Endpoint coordinator, Patience patience, std::shared_ptr<const TlsContext> tls = nullptr);

/// Whose coordinator listens there; nullopt when it is no coordinator, or does not say so within
/// 2 s.
asio::awaitable<std::optional<Introduction>> who_is_at(Endpoint endpoint);

}  // namespace ddprun
