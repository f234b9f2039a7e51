#include "launcher/run/open_coordinator.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>
#include <vector>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/system/own_process.hpp"
#include "launcher/run/open_etcd_election.hpp"
#include "launcher/run/own_address.hpp"
#include "launcher/run/resolve.hpp"
#include "rendezvous/transport/handshake_pool.hpp"

namespace ddprun {

namespace {

using Addresses = std::vector<asio::ip::address>;

/// Chooses the address to listen at: the one that the meeting names. Of several nodes each may find
/// another one behind a name. So a name means all addresses of this machine where it has several of
/// the same kind, or one that no other node can have meant: 127.0.1.1, or that of a gate before
/// this machine.
asio::ip::address listening_address(asio::io_context& io, const LaunchSpec& spec,
                                    const Addresses& resolved) {
  const asio::ip::address& first = resolved.front();
  boost::system::error_code is_name;
  const std::string& named = spec.meeting.coordinator.host;
  asio::ip::make_address(named, is_name);
  if (spec.terms.has_one_node() || !is_name || named == "localhost") return first;
  const bool one_of_its_kind = resolved.size() == 1 || resolved[1].is_v4() != first.is_v4();
  if (one_of_its_kind && !first.is_loopback() && is_own_address(io, first)) return first;
  if (first.is_v4()) return asio::ip::address_v4::any();
  return asio::ip::address_v6::any();
}

bool is_own_name(const std::string& host) {
  return host == host_name() || host.substr(0, host.find('.')) == host_name();
}

/// A name server may not know a node yet that has just started; the node itself knows its name.
Addresses own_address_unknown() { return {asio::ip::address_v4::loopback()}; }

/// The addresses of a host that may be this machine, whose own name needs none to be known.
Result<Addresses> resolve_own(asio::io_context& io, const std::string& host) {
  auto resolved = resolve_all(io, host);
  if (!resolved && is_own_name(host)) return own_address_unknown();
  return resolved;
}

/// Tells the user what to do when one cannot listen there.
std::string advice(asio::io_context& io, const asio::ip::address& address, std::uint16_t port,
                   const std::string& run_id) {
  if (port == 0) return "; is it an address of this machine?";
  return whose_port(io, address, port, run_id) +
         "; choose another port, or name none for any free one";
}

/// With a secret, admits only nodes that have it; without one, warns that every node may join.
Result<void> lock(Server& server, const LaunchSpec& spec, const std::string& run_id,
                  const asio::ip::address& address) {
  if (!spec.secret) {
    if (!spec.terms.has_one_node() && !address.is_loopback())
      log::warn(
          "there is no secret (--secret-file): anyone who reaches port {} of this node can join "
          "the job",
          server.port());
    return {};
  }
  auto tls = PeerTls::of_job(job_key(*spec.secret, run_id));
  if (!tls) return tls.error();
  server.lock(std::move(tls->accepts), handshake_threads(usable_cpus()), std::move(tls->connects));
  return {};
}

/// What a coordinator of open_coordinator() works with.
struct CoordinatorContext {
  asio::io_context& io;
  asio::io_context& serving;
  std::shared_ptr<NodeMemory> memory;
};

Result<RunCoordinator> serve(const CoordinatorContext& context, const LaunchSpec& spec,
                             const std::string& run_id, const Addresses& resolved) {
  const asio::ip::address listening = listening_address(context.io, spec, resolved);
  CoordinatorRules rules = coordinator_rules(spec, run_id);
  if (spec.meeting.coordinator.host == "127.0.0.1" && listening.is_v6())
    rules.master_addr = listening.to_string();
  if (!spec.meeting.places.empty()) rules.begins = Begins::kAsking;
  auto server = Server::listen(context.serving.get_executor(), std::move(rules), listening,
                               spec.meeting.coordinator.port);
  if (!server) return server.error();
  if (const auto locked = lock(**server, spec, run_id, listening); !locked) return locked.error();
  (*server)->remember_nodes_in(context.memory);
  (*server)->start();
  const std::uint16_t port = (*server)->port();
  const bool may_be_followed = standby_of(spec) == Standby::kMaySucceed;
  return RunCoordinator{.server = std::move(*server),
                        .open_standby = {},
                        .endpoint = {resolved.front().to_string(), port},
                        .is_here = true,
                        .own_port = may_be_followed ? port : std::uint16_t{0}};
}

bool is_this_machine(asio::io_context& io, const std::string& host) {
  if (is_own_name(host)) return true;
  const auto resolved = resolve_all(io, host);
  return resolved && is_own_address(io, resolved->front());
}

/// The port at which others look for a coordinator on this machine when the first one is lost; 0:
/// none. The host of the job needs the endpoint's port on the endpoint's machine, so no other agent
/// there takes it. Names are looked up only where the places have several ports.
std::uint16_t standby_port(asio::io_context& io, const Meeting& meeting, bool endpoint_is_here) {
  const std::uint16_t port = meeting.coordinator.port;
  for (const Endpoint& place : meeting.places)
    if (place.port != port && is_this_machine(io, place.host)) return place.port;
  return endpoint_is_here ? std::uint16_t{0} : port;
}

/// Where this node listens for the case that the coordinator is lost and this node follows it.
struct StandbyPlace {
  asio::ip::address address;
  std::uint16_t port = 0;  // that is wanted; any other one will do
};

/// All addresses of the kind that a host of the job was found to have, or loopback if it has that.
asio::ip::address standby_address(const Result<Addresses>& found) {
  if (!found) return asio::ip::address_v4::any();
  const asio::ip::address& first = found->front();
  if (first.is_loopback()) return first;
  return first.is_v6() ? asio::ip::address{asio::ip::address_v6::any()}
                       : asio::ip::address{asio::ip::address_v4::any()};
}

StandbyPlace standby_place(asio::io_context& io, const Meeting& meeting, Standby standby) {
  const std::string& host = meeting.coordinator.host;
  const auto found = resolve_all(io, host);
  const bool is_here = is_own_name(host) || (found && is_own_address(io, found->front()));
  StandbyPlace place{standby_address(found)};
  if (standby == Standby::kMaySucceed) place.port = standby_port(io, meeting, is_here);
  return place;
}

/// At the port that is wanted if that is free, and else at any. Without it the job runs as well.
std::unique_ptr<Server> open_standby(const asio::any_io_executor& serving,
                                     const std::shared_ptr<NodeMemory>& memory,
                                     const LaunchSpec& spec, const std::string& run_id,
                                     const StandbyPlace& place) {
  CoordinatorRules rules = coordinator_rules(spec, run_id);
  rules.begins = Begins::kStandingBy;
  rules.master_addr.clear();  // nodes reach the store where they reach the coordinator
  auto server = Server::listen(serving, rules, place.address, place.port);
  if (!server) server = Server::listen(serving, rules, place.address, 0);
  if (!server || !lock(**server, spec, run_id, asio::ip::address_v4::loopback())) return nullptr;
  (*server)->remember_nodes_in(memory);
  return std::move(*server);
}

/// Every node listens for the case that etcd chooses it. No node needs the endpoint's port more
/// than others.
Result<RunCoordinator> coordinator_by_etcd(const CoordinatorContext& context,
                                           const LaunchSpec& spec, const std::string& run_id) {
  const std::string host = own_host(context.io, spec.meeting);
  const StandbyPlace place{standby_address(resolve_all(context.io, host)),
                           spec.meeting.coordinator.port};
  const auto executor = context.serving.get_executor();
  auto server = open_standby(executor, context.memory, spec, run_id, place);
  if (!server) return Error{Error::Kind::kUnavailable, "this node cannot listen at any port"};
  const Endpoint endpoint{host, server->port()};
  auto election = open_etcd_election(executor, spec, run_id, endpoint, *server);
  if (!election) return election.error();
  server->start();
  const std::uint16_t port = server->port();
  return RunCoordinator{std::move(server), {}, endpoint, false, std::move(*election), port};
}

/// It listens only when the coordinator has been reached: until then another agent of this machine
/// may want to host the job at that port, in whatever order they are started.
RunCoordinator coordinator_elsewhere(const CoordinatorContext& context, const LaunchSpec& spec,
                                     const std::string& run_id) {
  const Endpoint& endpoint = spec.meeting.coordinator;
  const Standby standby = standby_of(spec);
  if (standby == Standby::kNotAtAll) return {nullptr, {}, endpoint, false};
  const auto open = [serving = context.serving.get_executor(), memory = context.memory, &spec,
                     run_id, place = standby_place(context.io, spec.meeting, standby)] {
    auto server = open_standby(serving, memory, spec, run_id, place);
    if (server) server->start();
    return server;
  };
  return {nullptr, open, endpoint, false};
}

Result<RunCoordinator> serve_here(const CoordinatorContext& context, const LaunchSpec& spec,
                                  const std::string& run_id) {
  const std::string& host = spec.meeting.coordinator.host;
  auto resolved = resolve_own(context.io, host);
  if (!resolved) return resolved.error();
  const bool stays_here = spec.terms.has_one_node() && resolved->front().is_loopback();
  if (stays_here && resolved->front().is_v4()) resolved = Addresses{own_loopback(context.io)};
  auto coordinator = serve(context, spec, run_id, *resolved);
  if (coordinator && stays_here)
    if (const auto way = find_way_to(context.io, resolved->front()); !way) return way.error();
  if (coordinator) return coordinator;
  return Error{coordinator.error().kind,
               coordinator.error().message +
                   advice(context.io, resolved->front(), spec.meeting.coordinator.port, run_id)};
}

/// A node that cannot listen there is not the one, or another agent of it was faster.
Result<RunCoordinator> serve_if_own(const CoordinatorContext& context, const LaunchSpec& spec,
                                    const std::string& run_id) {
  const std::string& host = spec.meeting.coordinator.host;
  auto resolved = resolve_own(context.io, host);
  if (!resolved || !is_own_address(context.io, resolved->front()))
    return coordinator_elsewhere(context, spec, run_id);
  auto coordinator = serve(context, spec, run_id, *resolved);
  if (coordinator) return coordinator;
  return coordinator_elsewhere(context, spec, run_id);
}

}  // namespace

Result<RunCoordinator> open_coordinator(asio::io_context& io, asio::io_context& serving,
                                        const LaunchSpec& spec, const std::string& run_id,
                                        const std::shared_ptr<NodeMemory>& memory) {
  const CoordinatorContext context{io, serving, memory};
  switch (spec.meeting.hosting) {
    case Hosting::kHere:
      return serve_here(context, spec, run_id);
    case Hosting::kAtEndpoint:
      return serve_if_own(context, spec, run_id);
    case Hosting::kByEtcd:
      return coordinator_by_etcd(context, spec, run_id);
    case Hosting::kElsewhere:
      break;
  }
  return coordinator_elsewhere(context, spec, run_id);
}

}  // namespace ddprun
