#include "rendezvous/leadership/coordinator_rules.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Kind = LeadershipKind;

TEST_CASE("how a node stands by follows from the kind of leadership") {
  struct Row {
    Kind kind;
    Standby standby;
    Standby if_perhaps_served;
  };
  const std::vector<Row> rows{
      {Kind::kAlone, Standby::kNotAtAll, Standby::kShowsLife},
      {Kind::kElected, Standby::kMaySucceed, Standby::kMaySucceed},
      {Kind::kEtcd, Standby::kMaySucceed, Standby::kMaySucceed},
      {Kind::kServer, Standby::kShowsLife, Standby::kShowsLife},
  };
  for (const Row& row : rows) {
    CHECK(standby_of(row.kind, false) == row.standby);
    CHECK(standby_of(row.kind, true) == row.if_perhaps_served);
  }
}

}  // namespace
}  // namespace ddprun
