// Opens what stands between etcd, the coordinator that this process may become, and its agent.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "agent/local_coordinator.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "rendezvous/etcd/etcd_election.hpp"
#include "rendezvous/service/server.hpp"

namespace ddprun {

/// Returns under which name or address the other nodes reach this one: as the meeting says, else
/// the address that this host has towards etcd, else its name. Looks up names and runs `io`
/// meanwhile.
std::string own_host(boost::asio::io_context& io, const Meeting& meeting);

/// Makes an election that tells `server` when it coordinates the job, and asks what that wants.
/// Both are in the event loop `serving`, and `server` outlives what runs there. `own` is where the
/// server is. Errors: kInvalid, for certificates that cannot be read.
Result<std::shared_ptr<EtcdElection>> open_etcd_election(
    const boost::asio::any_io_executor& serving, const LaunchSpec& spec, const std::string& run_id,
    const Endpoint& own, Server& server);

/// Lets an agent of another event loop ask it.
AskEtcd ask_of(std::shared_ptr<EtcdElection> election, const boost::asio::any_io_executor& serving);

}  // namespace ddprun
