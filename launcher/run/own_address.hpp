// Tells which addresses are this machine's, and who listens at a port of it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Whether a process of this machine can listen at `address`. It is tried with a port that the
/// system chooses, so that no port has to be free.
bool is_own_address(boost::asio::io_context& io, const boost::asio::ip::address& address);

/// Returns 127.0.0.1, or ::1 on a machine that has IPv6 alone.
boost::asio::ip::address own_loopback(boost::asio::io_context& io);

/// Returns the address of this machine that ssh connected to, because others can reach it, too.
/// nullopt: no ssh has, or it came from this machine.
std::optional<std::string> address_of_login(const EnvironmentLookup& environment);

/// Whether packets of this machine find a way to its own `address`; none is sent. Errors:
/// kUnavailable, where the interface is down.
Result<void> find_way_to(boost::asio::io_context& io, const boost::asio::ip::address& address);

/// Asks who has a port that is taken, and returns ": it is the coordinator of another job, ...", or
/// "" when it is no ddprun. `run_id` is the job that was to be hosted there, "" for none: one that
/// has it is called the same job. Runs `io` meanwhile, for at most 2 s.
std::string whose_port(boost::asio::io_context& io, const boost::asio::ip::address& address,
                       std::uint16_t port, const std::string& run_id);

}  // namespace ddprun
