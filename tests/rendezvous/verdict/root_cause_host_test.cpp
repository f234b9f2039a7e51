// RootCauseAnalysis and the node that is to blame for a failure.
#include "tests/rendezvous/verdict/root_cause_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE_METHOD(Round, "a node alone is to blame when all ranks of the cause are on it") {
  raises(3, 100, "KeyError");
  raises(2, 120, "KeyError");
  is_stopped(0, 130);
  verdict();
  CHECK(analysis().host_of_cause() == "h1");
  begin();
  raises(3, 100, "KeyError");
  raises(0, 120, "KeyError");
  verdict();
  CHECK(analysis().host_of_cause().empty());
  begin();
  CHECK_FALSE(decide());
  CHECK(analysis().host_of_cause().empty());
}

TEST_CASE_METHOD(Round,
                 "a worker that only follows, was stopped or has ended well blames no node") {
  follows(3, 100, Consequence::kConnectionReset);
  follows(0, 101, Consequence::kConnectionReset);
  verdict();
  CHECK(analysis().host_of_cause().empty());
  begin();
  follows(3, 100, Consequence::kForeignSignal);
  verdict();
  CHECK(analysis().host_of_cause().empty());
  begin();
  ends(3, 100, {.kind = FailureKind::kSignal, .blame = Blame::kPerhaps, .status = {.signal = 11}});
  verdict();
  CHECK(analysis().host_of_cause().empty());
}

TEST_CASE_METHOD(Round, "a node that is lost is to blame for that, unless it left on request") {
  node_is_lost(2, 100);
  verdict();
  CHECK(analysis().host_of_cause() == "h2");
  begin();
  node_is_lost(2, 100, true);
  verdict();
  CHECK(analysis().host_of_cause().empty());
}

TEST_CASE_METHOD(Round, "in a hang the node of the missing ranks is to blame") {
  analysis().hung(
      {.kind = HangReport::Kind::kMissing, .missing_ranks = "4", .waiting_ranks = "0-3,5"});
  verdict();
  CHECK(analysis().host_of_cause() == "h2");
  begin();
  analysis().hung({.kind = HangReport::Kind::kMissing, .missing_ranks = "1,4"});
  verdict();
  CHECK(analysis().host_of_cause().empty());
}

TEST_CASE("where all nodes are one machine, none of them is to blame") {
  RootCauseAnalysis analysis;
  analysis.begin_round(1);
  for (const int node : {0, 1}) analysis.seat(std::to_string(node), "h", node, 1);
  analysis.lost("1", "gone", TimePoint{}, false);
  REQUIRE(analysis.decide());
  CHECK(analysis.host_of_cause().empty());
}

}  // namespace
}  // namespace ddprun
