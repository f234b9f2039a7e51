#include "rendezvous/rounds/roster.hpp"

#include "rendezvous/rounds/rank_assignment.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Phase = Roster::Phase;

// Gives the tests a roster of a, b and c, who were heard in this order.
class RosterFixture {
 protected:
  RosterFixture() {
    for (const char* id : {"a", "b", "c"})
      roster_.add(id[0], Join{.node = id, .node_rank = id[0] - 'a'}, 0, start_);
  }
  Roster::Node& node(const NodeId& id) {
    Roster::Node* found = roster_.find(id);
    REQUIRE(found != nullptr);
    return *found;
  }

  TimePoint start_{};
  Roster roster_;
};

TEST_CASE_METHOD(RosterFixture, "a roster counts its nodes by phase") {
  CHECK(roster_.count(Phase::kReady) == 3);
  roster_.set_phase(node("b"), Phase::kRunning);
  roster_.set_phase(node("c"), Phase::kRunning);
  CHECK(roster_.count(Phase::kReady) == 1);
  CHECK(roster_.count(Phase::kRunning) == 2);
  roster_.remove(node("b"));
  CHECK(roster_.count(Phase::kRunning) == 1);
  CHECK(roster_.find("b") == nullptr);
}

TEST_CASE_METHOD(RosterFixture, "a roster knows who was heard longest ago") {
  CHECK(roster_.most_silent().id() == "a");
  roster_.heard(node("a"), start_ + 1s);
  CHECK(roster_.most_silent().id() == "b");
  roster_.remove(node("b"));
  CHECK(roster_.most_silent().id() == "c");
  roster_.heard(node("c"), start_ + 2s);
  CHECK(roster_.most_silent().last_heard() == start_ + 1s);
  roster_.all_heard(start_ + 9s);
  CHECK(roster_.most_silent().last_heard() == start_ + 9s);
}

TEST_CASE_METHOD(RosterFixture, "a rank is wanted until its node is gone") {
  REQUIRE(roster_.with_wanted_rank(1) != nullptr);
  CHECK(roster_.with_wanted_rank(1)->id() == "b");
  roster_.remove(node("b"));
  CHECK(roster_.with_wanted_rank(1) == nullptr);
  CHECK(roster_.with_wanted_rank(-1) == nullptr);  // any
}

TEST_CASE_METHOD(RosterFixture, "a node is found by the connection that its agent has now") {
  CHECK(roster_.with_peer('b') == &node("b"));
  roster_.heard(node("a"), start_ + 1s);
  roster_.reconnect(node("b"), 7, Join{.node = "b", .node_rank = 1}, start_ + 2s);
  CHECK(roster_.with_peer('b') == nullptr);
  CHECK(roster_.with_peer(7) == &node("b"));
  CHECK(roster_.most_silent().id() == "c");
  roster_.remove(node("b"));
  CHECK(roster_.with_peer(7) == nullptr);
}

TEST_CASE_METHOD(RosterFixture, "who asks for a rank that is taken contends, and may inherit it") {
  Roster::Node& first = roster_.add(10, Join{.node = "x", .node_rank = 1}, 3, start_);
  roster_.add(11, Join{.node = "y", .node_rank = 1}, 4, start_);
  CHECK(first.phase() == Phase::kContending);
  CHECK(roster_.contenders_of(node("b")) == std::vector{&first, &node("y")});
  CHECK(roster_.contenders_of(first).empty());
  CHECK(roster_.remove(node("y")) == nullptr);
  CHECK(roster_.remove(node("a")) == nullptr);
  CHECK(roster_.remove(node("b")) == &first);
  CHECK(roster_.with_wanted_rank(1) == &first);
}

TEST_CASE_METHOD(RosterFixture, "nodes are visited in the order of their ids") {
  std::string visited;
  roster_.for_each([&](const Roster::Node& n) { visited += n.id(); });
  CHECK(visited == "abc");
}

TEST_CASE_METHOD(RosterFixture, "the first spare is the one that came first, if there is any") {
  CHECK(first_spare(roster_) == "a");
  for (const char* id : {"a", "b", "c"}) roster_.set_phase(node(id), Phase::kRunning);
  CHECK(first_spare(roster_).empty());
}

}  // namespace
}  // namespace ddprun
