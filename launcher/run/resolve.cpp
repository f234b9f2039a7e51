#include "launcher/run/resolve.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>

#include "base/asio.hpp"
#include "base/lookup_error.hpp"
#include "launcher/run/own_address.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

constexpr std::chrono::seconds kPatience{10};

using Addresses = std::vector<asio::ip::address>;

Addresses ipv4_first(const tcp::resolver::results_type& results) {
  Addresses addresses;
  for (const bool ipv4 : {true, false})
    for (const auto& entry : results) {
      const asio::ip::address address = entry.endpoint().address();
      if (address.is_v4() == ipv4 && std::ranges::find(addresses, address) == addresses.end())
        addresses.push_back(address);
    }
  return addresses;
}

}  // namespace

Result<asio::ip::address> resolve(asio::io_context& io, const std::string& host) {
  const auto addresses = resolve_all(io, host);
  if (!addresses) return addresses.error();
  return addresses->front();
}

Result<Addresses> resolve_all(asio::io_context& io, const std::string& host) {
  if (host == "localhost") return Addresses{own_loopback(io)};
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(host, not_numeric);
  if (!not_numeric) return Addresses{address};
  std::optional<Result<Addresses>> answer;
  tcp::resolver resolver{io};
  resolver.async_resolve(host, "", [&](boost::system::error_code error, const auto& results) {
    if (error || results.empty())
      answer = Error{Error::Kind::kUnavailable, lookup_error(host, error)};
    else
      answer = ipv4_first(results);
  });
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!answer && io.run_one_until(deadline) > 0) continue;
  io.restart();
  if (answer) return *answer;
  resolver.cancel();
  return Error{Error::Kind::kTimeout,
               "no name server told within 10 s where the host '" + host + "' is"};
}

}  // namespace ddprun
