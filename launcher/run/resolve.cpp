#include "launcher/run/resolve.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>

#include "base/asio.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

constexpr std::chrono::seconds kPatience{10};

asio::ip::address best(const tcp::resolver::results_type& results) {
  for (const auto& entry : results)
    if (entry.endpoint().address().is_v4()) return entry.endpoint().address();
  return results.begin()->endpoint().address();
}

}  // namespace

Result<asio::ip::address> resolve(asio::io_context& io, const std::string& host) {
  if (host == "localhost") return asio::ip::address{asio::ip::address_v4::loopback()};
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(host, not_numeric);
  if (!not_numeric) return address;
  std::optional<Result<asio::ip::address>> answer;
  tcp::resolver resolver{io};
  resolver.async_resolve(host, "", [&](boost::system::error_code error, const auto& results) {
    if (error || results.empty())
      answer = Error{Error::Kind::kUnavailable,
                     "cannot find the host '" + host + "': " + error.message()};
    else
      answer = best(results);
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
