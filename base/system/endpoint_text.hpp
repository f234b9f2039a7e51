// Addresses as users write them.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "base/endpoint.hpp"

namespace ddprun {

/// Returns the IPv4 address that an IPv6 socket shows as "::ffff:10.0.0.1" (RFC 4291, section
/// 2.5.5.2); every other address as it is.
inline boost::asio::ip::address unmapped(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

/// Returns "10.0.0.1:29400", or "[fd77::1]:29400" with brackets around an IPv6 address (RFC 3986).
inline std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint) {
  return text_of({endpoint.address().to_string(), endpoint.port()});
}

}  // namespace ddprun
