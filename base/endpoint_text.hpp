// endpoint_text(): an address and its port as users write them.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace ddprun {

/// Returns "10.0.0.1:29400", or "[fd77::1]:29400" with brackets around an IPv6 address (RFC 3986).
inline std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

}  // namespace ddprun
