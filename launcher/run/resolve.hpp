// Finds the addresses that a host's name means.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// All addresses that the name `host` has here, IPv4 first, each once; never none. For the rest it
/// is as resolve().
Result<std::vector<boost::asio::ip::address>> resolve_all(boost::asio::io_context& io,
                                                          const std::string& host);

/// Numbers and "localhost" mean themselves; other names are looked up, which takes at most 10 s;
/// IPv4 is preferred. Runs `io` meanwhile. Errors: kUnavailable, kTimeout.
Result<boost::asio::ip::address> resolve(boost::asio::io_context& io, const std::string& host);

}  // namespace ddprun
