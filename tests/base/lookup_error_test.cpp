#include "base/lookup_error.hpp"

#include <boost/asio/error.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a name that leads to no host is reported in a sentence") {
  namespace errors = boost::asio::error;
  CHECK(lookup_error("h0", errors::host_not_found) ==
        "there is no address for the name 'h0' (is it spelled right?)");
  CHECK(lookup_error("h0", errors::no_data) == lookup_error("h0", errors::host_not_found));
  CHECK(lookup_error("h0", errors::host_not_found_try_again) ==
        "there is no address for the name 'h0' (no name server told one: is the name right, and "
        "the network up?)");
  CHECK_THAT(lookup_error("h0", errors::no_memory),
             contains("there is no address for the name 'h0' ("));
}

}  // namespace
}  // namespace ddprun
