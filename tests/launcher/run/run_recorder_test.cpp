#include "launcher/run/run_recorder.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("one node of a round keeps the record: the coordinator's, or else the first") {
  CHECK(writes_record({.group_rank = 0, .leader_rank = -1}));
  CHECK_FALSE(writes_record({.group_rank = 1, .leader_rank = -1}));
  CHECK(writes_record({.group_rank = 1, .leader_rank = 1}));
  CHECK_FALSE(writes_record({.group_rank = 0, .leader_rank = 1}));
}

TEST_CASE("the hosts of a round are those of its nodes that are there") {
  JobStatus status;
  status.nodes = {{.host = "h1", .group_rank = 0},
                  {.host = "h2", .state = NodeStatus::State::kLost, .group_rank = 1},
                  {.host = "h3", .state = NodeStatus::State::kSpare}};
  CHECK(hosts_in(status) == std::vector<std::string>{"h1"});
}

}  // namespace
}  // namespace ddprun
