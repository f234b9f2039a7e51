#include "launcher/run/coordinator_host.hpp"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <utility>

#include "base/own_process.hpp"
#include "base/report_failure.hpp"
#include "launcher/run/resolve.hpp"
#include "rendezvous/rounds/client.hpp"

namespace ddprun {

namespace {

/// Where the coordinator listens: at the address that the user named, on one machine at loopback. A
/// name may mean another address here than elsewhere (127.0.1.1): then at all.
asio::ip::address listening_address(const LaunchSpec& spec, const asio::ip::address& resolved) {
  boost::system::error_code is_name;
  asio::ip::make_address(spec.coordinator.host, is_name);
  if (spec.rules.nodes_max == 1 || !is_name || spec.coordinator.host == "localhost")
    return resolved;
  if (resolved.is_v4()) return asio::ip::address_v4::any();
  return asio::ip::address_v6::any();
}

bool is_own_name(const std::string& host) {
  return host == host_name() || host.substr(0, host.find('.')) == host_name();
}

/// What to do where one cannot listen.
std::string advice(asio::io_context& io, const asio::ip::address& address, std::uint16_t port) {
  if (port == 0) return "; is it an address of this machine?";
  return whose_port(io, address, port) + "; choose another port, or name none for any free one";
}

}  // namespace

bool is_own_address(asio::io_context& io, const asio::ip::address& address) {
  boost::system::error_code error;
  asio::ip::tcp::acceptor probe{io};
  probe.open(asio::ip::tcp::endpoint{address, 0}.protocol(), error);
  if (!error) probe.bind({address, 0}, error);
  return !error;
}

std::string whose_port(asio::io_context& io, const asio::ip::address& address, std::uint16_t port) {
  std::optional<std::optional<Introduction>> answer;
  const auto asked = [&](const std::exception_ptr& failure, std::optional<Introduction> who) {
    report_failure("asking whose port it is")(failure);
    answer = std::move(who);
  };
  co_spawn(io, who_is_at({address.to_string(), port}), asked);
  while (!answer) io.run_one();
  io.restart();
  if (!*answer) return "";
  return fmt::format(": it is the coordinator of {}, ddprun with process id {} on {}",
                     (*answer)->jobs, (*answer)->pid, (*answer)->host);
}

Result<std::unique_ptr<Server>> host_coordinator(asio::io_context& io, LaunchSpec& spec) {
  if (spec.hosting == Hosting::kElsewhere) return std::unique_ptr<Server>{};
  if (spec.coordinator.host.empty()) spec.coordinator.host = "127.0.0.1";
  const bool guessed = spec.hosting == Hosting::kAtEndpoint;
  auto address = resolve(io, spec.coordinator.host);
  // A name server may not know a node yet that has just started; the node itself knows its name.
  if (!address && guessed && is_own_name(spec.coordinator.host))
    address = asio::ip::address{asio::ip::address_v4::loopback()};
  if (!address && guessed) return std::unique_ptr<Server>{};
  if (!address) return address.error();
  if (guessed && !is_own_address(io, *address)) return std::unique_ptr<Server>{};
  if (spec.rules.master_addr.empty()) spec.rules.master_addr = spec.coordinator.host;
  auto server = Server::listen(io.get_executor(), spec.rules, listening_address(spec, *address),
                               spec.coordinator.port);
  if (!server && guessed) return std::unique_ptr<Server>{};  // another agent here was faster
  if (!server)
    return Error{server.error().kind,
                 server.error().message + advice(io, *address, spec.coordinator.port)};
  (*server)->start();
  spec.coordinator = {address->to_string(), (*server)->port()};
  spec.rejoin = false;  // what runs in this process is not lost without it
  return server;
}

}  // namespace ddprun
