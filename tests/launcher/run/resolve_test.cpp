#include "launcher/run/resolve.hpp"

#include "launcher/run/own_address.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string resolved(const std::string& host) {
  boost::asio::io_context io{1};
  const auto address = resolve(io, host);
  return address ? address->to_string() : "error: " + address.error().message;
}

TEST_CASE("numbers mean themselves, and localhost this machine, with any name server") {
  CHECK(resolved("10.1.2.3") == "10.1.2.3");
  CHECK(resolved("::1") == "::1");
  CHECK(resolved("localhost") == "127.0.0.1");
}

TEST_CASE("an address is this machine's when one can listen there") {
  boost::asio::io_context io{1};
  CHECK(is_own_address(io, boost::asio::ip::make_address("127.0.0.1")));
  CHECK_FALSE(is_own_address(io, boost::asio::ip::make_address("192.0.2.1")));  // RFC 5737
}

}  // namespace
}  // namespace ddprun
