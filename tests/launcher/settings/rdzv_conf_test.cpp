#include "launcher/settings/rdzv_conf.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

Result<RendezvousConf> parsed(const std::string& text) {
  return parse_rdzv_conf({.text = text, .source = "--rdzv-conf", .given = true});
}

TEST_CASE("a key that is like another one is a mistake, and the other one is named") {
  CHECK(parsed("timout=3").error().message.ends_with("'timout'; did you mean timeout?"));
  CHECK(parsed("jointimeout=3").error().message.ends_with("did you mean join_timeout?"));
}

TEST_CASE("any other key is one without effect, as for torchrun, whatever its value is") {
  const auto conf =
      parsed("rdzv_backend=c10d,rdzv_endpoint=node1:29500,colour=red,timeout=9,rank=0");
  REQUIRE(conf.has_value());
  CHECK(conf->unknown == "colour, rdzv_backend, rdzv_endpoint");
  CHECK(conf->unused == "rank");
  CHECK(conf->join == std::chrono::seconds{9});
}

}  // namespace
}  // namespace ddprun
