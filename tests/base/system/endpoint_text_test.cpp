#include "base/system/endpoint_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using boost::asio::ip::make_address;

TEST_CASE("an IPv6 address stands in brackets, so that its port can be told apart") {
  CHECK(endpoint_text({make_address("10.0.0.1"), 29400}) == "10.0.0.1:29400");
  CHECK(endpoint_text({make_address("fd77::1"), 29400}) == "[fd77::1]:29400");
}

}  // namespace
}  // namespace ddprun
