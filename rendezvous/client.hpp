// What an agent calls to reach the coordinator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "rendezvous/channel.hpp"

namespace ddprun {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// Connects to the coordinator, trying again with growing pauses until `patience` has passed.
/// Errors: kTimeout, naming the endpoint and the last reason.
asio::awaitable<Result<std::shared_ptr<Channel>>> connect(Endpoint coordinator,
                                                          std::chrono::milliseconds patience);

}  // namespace ddprun
