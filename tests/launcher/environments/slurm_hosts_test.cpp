#include "launcher/environments/slurm_hosts.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Names = std::vector<std::string>;

Names expanded(std::string_view list) {
  const auto hosts = expand_slurm_hosts(list);
  if (!hosts) FAIL(hosts.error().message);
  return *hosts;
}

TEST_CASE(
    "Slurm's lists of hosts are written out in their order, numbers padded as they are there") {
  CHECK(expanded("h0") == Names{"h0"});
  CHECK(expanded("ctl,h[0-1]") == Names{"ctl", "h0", "h1"});
  CHECK(expanded("n[001-003,7],gpu-a[1-2]-ib0") ==
        Names{"n001", "n002", "n003", "n7", "gpu-a1-ib0", "gpu-a2-ib0"});
  CHECK(expanded("n[098-101]") == Names{"n098", "n099", "n100", "n101"});
  CHECK(expanded("gpu-1-[01-02],gpu-2-01") == Names{"gpu-1-01", "gpu-1-02", "gpu-2-01"});
}

TEST_CASE("several brackets in one name are all combinations, the last the fastest") {
  CHECK(expanded("r[1-2]n[08-09]") == Names{"r1n08", "r1n09", "r2n08", "r2n09"});
  CHECK(expanded("a[1,3]b[2]c") == Names{"a1b2c", "a3b2c"});
}

TEST_CASE("a list that is none is refused in a sentence, and an endless one, too") {
  for (const char* list : {"", "n[1-", "n[]", "n[3-1]", "n[a-b]", "n1]", "n[1-2],,m", "n[1--2]",
                           "n[0-99999999]", "a[1-300]b[1-300]", "n[99999999999]"}) {
    const auto hosts = expand_slurm_hosts(list);
    INFO(list);
    REQUIRE(hosts.has_error());
    CHECK_THAT(hosts.error().message, contains("is no list of hosts"));
  }
}

}  // namespace
}  // namespace ddprun
