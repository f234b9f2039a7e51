// What an agent calls to reach the coordinator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/endpoint.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/transport/connect_plan.hpp"

namespace ddprun {

/// A connection to a coordinator, and the first that it said.
struct Reached {
  std::shared_ptr<Channel> channel;
  CoordinatorMessage answer;
};

/// Makes the first message of an attempt, which goes over that connection.
using Hello = std::function<AgentMessage(const Channel&)>;

/// Is given a line for the user when the coordinator is not reached for long.
using TellUser = std::function<void(const std::string& line)>;

/// Connects to the coordinator, says hello and waits for an answer that makes sense. It tries again
/// as ConnectPlan says. With `tls`, a connection is one only when both ends have proven to have the
/// secret. Errors: kTimeout, with a sentence about what the last attempt has found; kUnavailable,
/// with such a sentence, if that was refused; kDenied, at once, when the coordinator has another
/// secret or none.
asio::awaitable<Result<Reached>> reach(Endpoint coordinator, Patience patience, Hello hello,
                                       TellUser tell,
                                       std::shared_ptr<const TlsContext> tls = nullptr);

/// Connects, and neither says anything nor waits for anything but the handshake of TLS; for the
/// rest it is as reach().
asio::awaitable<Result<std::shared_ptr<Channel>>> connect(
    Endpoint coordinator, Patience patience, std::shared_ptr<const TlsContext> tls = nullptr);

/// The Identity of the coordinator that listens there, asked for as a process that wants to host
/// `run_id`; nullopt if the answer is not a coordinator's. It has `patience` for the answer.
/// Errors: as reach().
asio::awaitable<Result<std::optional<Identity>>> ask_who_is_at(
    Endpoint endpoint, std::string run_id, std::chrono::milliseconds patience,
    std::shared_ptr<const TlsContext> tls);

/// As above, without a secret; nullopt also when there is no answer within 2 s.
asio::awaitable<std::optional<Identity>> who_is_at(Endpoint endpoint, std::string run_id);

}  // namespace ddprun
