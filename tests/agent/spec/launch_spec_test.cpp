#include "agent/spec/launch_spec.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("how a node stands by follows from how the nodes meet") {
  struct Row {
    const char* job;
    int nodes_max;
    Meeting meeting;
    Standby standby;
  };
  const Endpoint first{"h0", 29400};
  const std::vector<Row> rows{
      {"one node that hosts", 1, {}, Standby::kNotAtAll},
      {"one node, perhaps of a server", 1, {.hosting = Hosting::kElsewhere}, Standby::kShowsLife},
      {"one of one node, or the server is at its endpoint",
       1,
       {.hosting = Hosting::kAtEndpoint},
       Standby::kShowsLife},
      {"the second of two nodes, whose first one hosts",
       2,
       {.node_rank = 1, .hosting = Hosting::kElsewhere},
       Standby::kMaySucceed},
      {"one of two nodes, perhaps of a server",
       2,
       {.hosting = Hosting::kElsewhere},
       Standby::kMaySucceed},
      {"one of two nodes at several places",
       2,
       {.node_rank = 1, .hosting = Hosting::kElsewhere, .places = {first, first}},
       Standby::kMaySucceed},
      {"one of two nodes that an etcd chooses from",
       2,
       {.hosting = Hosting::kByEtcd, .etcd = EtcdPlace{}},
       Standby::kMaySucceed},
      {"the host of three nodes", 3, {}, Standby::kMaySucceed},
      {"one of three nodes, perhaps of a server",
       3,
       {.hosting = Hosting::kElsewhere},
       Standby::kMaySucceed},
  };
  for (const Row& row : rows) {
    INFO(row.job);
    LaunchSpec spec;
    spec.terms.nodes_max = row.nodes_max;
    spec.meeting = row.meeting;
    CHECK(standby_of(spec) == row.standby);
  }
}

}  // namespace
}  // namespace ddprun
