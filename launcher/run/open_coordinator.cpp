#include "launcher/run/open_coordinator.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/asio.hpp"
#include "base/own_process.hpp"
#include "launcher/run/own_address.hpp"
#include "launcher/run/resolve.hpp"

namespace ddprun {

namespace {

/// Chooses the address to listen at: the one that the meeting names. With several nodes a name
/// means all addresses of this machine, because it may be another one here (127.0.1.1) than
/// elsewhere.
asio::ip::address listening_address(const Meeting& meeting, const asio::ip::address& resolved) {
  boost::system::error_code is_name;
  asio::ip::make_address(meeting.coordinator.host, is_name);
  if (meeting.nodes_max == 1 || !is_name || meeting.coordinator.host == "localhost")
    return resolved;
  if (resolved.is_v4()) return asio::ip::address_v4::any();
  return asio::ip::address_v6::any();
}

bool is_own_name(const std::string& host) {
  return host == host_name() || host.substr(0, host.find('.')) == host_name();
}

/// Tells the user what to do when one cannot listen there.
std::string advice(asio::io_context& io, const asio::ip::address& address, std::uint16_t port) {
  if (port == 0) return "; is it an address of this machine?";
  return whose_port(io, address, port) + "; choose another port, or name none for any free one";
}

/// With a secret, lets only those in who have it; without one, says that all may come in.
Result<void> lock(Server& server, const LaunchSpec& spec, const std::string& run_id,
                  const asio::ip::address& address) {
  if (!spec.secret) {
    if (spec.meeting.nodes_max > 1 && !address.is_loopback())
      spdlog::warn(
          "there is no secret (--secret-file): whoever reaches port {} of this node can join the "
          "job",
          server.port());
    return {};
  }
  auto tls = TlsContext::for_coordinator(job_key(*spec.secret, run_id));
  if (!tls) return tls.error();
  server.lock(std::move(*tls));
  return {};
}

Result<RunCoordinator> serve(asio::io_context& io, const LaunchSpec& spec,
                             const std::string& run_id, const asio::ip::address& address) {
  const asio::ip::address listening = listening_address(spec.meeting, address);
  auto server = Server::listen(io.get_executor(), round_rules(spec, run_id), listening,
                               spec.meeting.coordinator.port);
  if (!server) return server.error();
  if (const auto locked = lock(**server, spec, run_id, listening); !locked) return locked.error();
  (*server)->start();
  Endpoint endpoint{address.to_string(), (*server)->port()};
  return RunCoordinator{std::move(*server), std::move(endpoint)};
}

RunCoordinator coordinator_elsewhere(const Meeting& meeting) {
  return {nullptr, meeting.coordinator};
}

Result<RunCoordinator> serve_here(asio::io_context& io, const LaunchSpec& spec,
                                  const std::string& run_id) {
  const auto address = resolve(io, spec.meeting.coordinator.host);
  if (!address) return address.error();
  auto coordinator = serve(io, spec, run_id, *address);
  if (coordinator) return coordinator;
  return Error{coordinator.error().kind,
               coordinator.error().message + advice(io, *address, spec.meeting.coordinator.port)};
}

/// A node that cannot listen there is not the one, or another agent of it was faster.
Result<RunCoordinator> serve_if_own(asio::io_context& io, const LaunchSpec& spec,
                                    const std::string& run_id) {
  const std::string& host = spec.meeting.coordinator.host;
  auto address = resolve(io, host);
  // A name server may not know a node yet that has just started; the node itself knows its name.
  if (!address && is_own_name(host)) address = asio::ip::address{asio::ip::address_v4::loopback()};
  if (!address || !is_own_address(io, *address)) return coordinator_elsewhere(spec.meeting);
  auto coordinator = serve(io, spec, run_id, *address);
  return coordinator ? std::move(coordinator) : coordinator_elsewhere(spec.meeting);
}

}  // namespace

Result<RunCoordinator> open_coordinator(asio::io_context& io, const LaunchSpec& spec,
                                        const std::string& run_id) {
  switch (spec.meeting.hosting) {
    case Hosting::kHere:
      return serve_here(io, spec, run_id);
    case Hosting::kAtEndpoint:
      return serve_if_own(io, spec, run_id);
    case Hosting::kElsewhere:
      break;
  }
  return coordinator_elsewhere(spec.meeting);
}

}  // namespace ddprun
