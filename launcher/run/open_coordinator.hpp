// Opens a run's coordinator in this process, or finds that it runs elsewhere.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/spec/launch_spec.hpp"
#include "rendezvous/etcd/etcd_election.hpp"
#include "rendezvous/service/server.hpp"

namespace ddprun {

/// The coordinator as this node sees it.
struct RunCoordinator {
  /// Already serving: the coordinator, or what etcd may choose as that. nullptr: neither.
  std::unique_ptr<Server> server;
  /// Opens what may follow the coordinator on this node, and serves it. To be called once, when the
  /// coordinator has been reached; it may return nullptr. Empty: nothing here follows it. The
  /// LaunchSpec must live as long.
  std::function<std::unique_ptr<Server>()> open_standby;
  Endpoint endpoint;     // where this node's agent reaches the coordinator
  bool is_here = false;  // it is `server`
  std::shared_ptr<EtcdElection> election = nullptr;  // says where it is; null: `endpoint` does
  /// The port at which this process coordinates the job, or would as soon as etcd says so; 0: none
  /// yet, or a coordinator without a possible successor.
  std::uint16_t own_port = 0;
};

/// Serves the coordinator of the job `run_id` if this node is the one to run it. With
/// Hosting::kAtEndpoint that is the node whose address the endpoint is, which is found out here.
/// Looks up names and runs `io` meanwhile; the coordinator is served by the event loop `serving`,
/// which may be the same. It keeps in `memory` which nodes fail; nullptr: nowhere. Errors:
/// kUnavailable and kTimeout, naming the address and, where it can be found out, whose the port is.
Result<RunCoordinator> open_coordinator(boost::asio::io_context& io,
                                        boost::asio::io_context& serving, const LaunchSpec& spec,
                                        const std::string& run_id,
                                        const std::shared_ptr<NodeMemory>& memory = nullptr);

}  // namespace ddprun
