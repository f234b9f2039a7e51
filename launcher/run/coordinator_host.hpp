// Which node runs the coordinator, and where it listens.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "agent/launch_spec.hpp"
#include "rendezvous/rounds/server.hpp"

namespace ddprun {

/// Whether one can listen at `address` here, at some port: none has to be free.
bool is_own_address(boost::asio::io_context& io, const boost::asio::ip::address& address);

/// ": it is the coordinator of job 'a', ..." of a port that is taken; "" when a stranger has it.
/// Runs `io` meanwhile, for at most 2 s.
std::string whose_port(boost::asio::io_context& io, const boost::asio::ip::address& address,
                       std::uint16_t port);

/// The coordinator, if this node is the one to run it, already serving, and `spec` tells where;
/// nullptr when it runs elsewhere. Runs `io` meanwhile. Errors: kUnavailable, naming the address
/// and, where it can be found out, whose the port is.
Result<std::unique_ptr<Server>> host_coordinator(boost::asio::io_context& io, LaunchSpec& spec);

}  // namespace ddprun
