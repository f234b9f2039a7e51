#include "launcher/run/own_address.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <exception>
#include <sstream>
#include <utility>

#include "base/asio.hpp"
#include "base/coroutines.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {

bool is_own_address(asio::io_context& io, const asio::ip::address& address) {
  boost::system::error_code error;
  asio::ip::tcp::acceptor probe{io};
  probe.open(asio::ip::tcp::endpoint{address, 0}.protocol(), error);
  if (!error) probe.bind({address, 0}, error);
  return !error;
}

asio::ip::address own_loopback(asio::io_context& io) {
  const asio::ip::address usual = asio::ip::address_v4::loopback();
  const asio::ip::address other = asio::ip::address_v6::loopback();
  return !is_own_address(io, usual) && is_own_address(io, other) ? other : usual;
}

std::optional<std::string> address_of_login(const EnvironmentLookup& environment) {
  std::istringstream connection{environment("SSH_CONNECTION").value_or("")};
  std::string client, client_port, address;
  connection >> client >> client_port >> address;
  boost::system::error_code no_address;
  const auto parsed = asio::ip::make_address(address, no_address);
  if (no_address || parsed.is_loopback()) return std::nullopt;
  return address;
}

Result<void> find_way_to(asio::io_context& io, const asio::ip::address& address) {
  constexpr std::uint16_t kDiscard = 9;
  const asio::ip::udp::endpoint end{address, kDiscard};
  boost::system::error_code error;
  asio::ip::udp::socket probe{io};
  probe.open(end.protocol(), error);
  if (!error) probe.connect(end, error);
  if (!error) return {};
  return Error{Error::Kind::kUnavailable,
               "this machine does not reach its own address " + address.to_string() + ": " +
                   error.message() + "; expected is an interface that is up (ip link set lo up)"};
}

std::string whose_port(asio::io_context& io, const asio::ip::address& address, std::uint16_t port,
                       const std::string& run_id) {
  std::optional<std::optional<Identity>> answer;
  const auto keep = [&](std::optional<Identity> who) { answer = std::move(who); };
  auto asking = who_is_at({address.to_string(), port}, run_id);
  start_coroutine(io, then(std::move(asking), keep), report_failure("asking whose port it is"));
  while (!answer) io.run_one();
  io.restart();
  if (!*answer) return "";
  return fmt::format(": it is the coordinator of {}, ddprun with process id {} on {}",
                     (*answer)->jobs, (*answer)->pid, (*answer)->host);
}

}  // namespace ddprun
