#include "base/endpoint.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("an endpoint is read back from its text, with an address of either kind") {
  for (const Endpoint& endpoint : {Endpoint{"h0", 29400}, {"10.0.0.1", 1}, {"fd77::1", 65535}})
    CHECK(read_endpoint(text_of(endpoint)) == endpoint);
  CHECK(text_of({"fd77::1", 80}) == "[fd77::1]:80");
}

TEST_CASE("what has no host or no port is no endpoint") {
  for (const char* text : {"", "h0", "h0:", ":29400", "h0:0", "h0:65536", "h0:x", "[]:80"})
    CHECK_FALSE(read_endpoint(text).has_value());
}

}  // namespace
}  // namespace ddprun
