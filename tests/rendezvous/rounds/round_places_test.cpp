// CoordinatorMachine of a job whose coordinator may be at several places.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class PlacesFixture : protected RoundFixture {
 protected:
  PlacesFixture() {
    now_ += 1h;
    rules_ = {.terms = {.nodes_min = 1, .nodes_max = 3},
              .leadership = LeadershipKind::kElected,
              .endpoint = "h0:1",
              .places = {"h0:1", "h1:1", "h2:1"}};
  }
  /// What listens at the first place.
  void is_first() {
    CoordinatorRules rules = rules_;
    rules.begins = Begins::kAsking;
    job(rules);
  }
  void stands_by() {
    CoordinatorRules rules = rules_;
    rules.begins = Begins::kStandingBy;
    job(rules);
  }
  Join newcomer(const NodeId& node) const {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    return join;
  }
  /// A node of a round of three whose coordinator had the epoch 2.
  Join voter(const NodeId& node) const {
    Join join = newcomer(node);
    const Configuration last{{2, 4}, 3, true};
    join.counters = {.round = 4, .attempt = 0};
    join.voter.epoch = join.voter.promised = 2;
    join.voter.proposed = join.voter.committed = last;
    join.voter.leader = "h5:1";
    return join;
  }
  /// Where it asks for a coordinator next; nowhere: it begins no job.
  std::vector<std::string> asked() {
    passes(kAskPause);
    const auto question = did<AskLeaders>();
    return question ? question->endpoints : std::vector<std::string>{};
  }
  void hears_of(std::int64_t epoch, const std::string& coordinator, bool all = true) {
    step(LeadersFound{{epoch, coordinator}, all});
  }
};

TEST_CASE_METHOD(PlacesFixture,
                 "the first place begins the job when nobody knows of a coordinator") {
  is_first();
  says("a", newcomer("a"));
  CHECK(order<Candidate>("a").has_value());
  hears_of(0, "", false);  // some are not there
  CHECK(ordered<Joined>("a").epoch == 1);
  for (const char* node : {"b", "c"}) says(node, newcomer(node));
  CHECK(start("a").epoch == 1);
}

TEST_CASE_METHOD(PlacesFixture,
                 "the first place begins nothing while somebody knows of a coordinator") {
  is_first();
  says("a", newcomer("a"));
  hears_of(2, "h1:1");
  CHECK_FALSE(asked().empty());
  CHECK_FALSE(order<Joined>("a").has_value());
  CHECK(machine_->epoch() == 0);
}

TEST_CASE_METHOD(PlacesFixture, "once a coordinator was named, silence is no proof of its end") {
  is_first();
  hears_of(2, "h3:9");
  CHECK(asked() == std::vector<std::string>{"h1:1", "h2:1", "h3:9"});
  hears_of(2, "");  // it was lost; it may be there again
  CHECK(asked().back() == "h3:9");
  hears_of(0, "", false);
  CHECK_FALSE(asked().empty());
  hears_of(0, "", true);  // nodes of the job may be on their way here
  CHECK_FALSE(asked().empty());
  passes(rules_.terms.heartbeat_timeout);
  hears_of(0, "", true);  // the job is over
  CHECK(asked().empty());
  CHECK(machine_->epoch() == 1);
}

TEST_CASE_METHOD(PlacesFixture,
                 "the first place begins nothing once it has met a node of a round") {
  is_first();
  says("a", voter("a"));
  CHECK(asked().empty());
  hears_of(0, "");
  CHECK(machine_->epoch() == 0);
}

TEST_CASE_METHOD(PlacesFixture, "what stands by begins no job") {
  stands_by();
  CHECK(asked().empty());
  hears_of(0, "");
  CHECK(machine_->epoch() == 0);
}

TEST_CASE_METHOD(PlacesFixture, "a newcomer is sent to the coordinator that the agent here obeys") {
  stands_by();
  step(AgentFollows{{2, "h1:1"}});
  says("x", newcomer("x"));
  CHECK(ordered<Redirect>("x") == Redirect{"h1:1", 2});
  CHECK(dropped("x"));
}

TEST_CASE_METHOD(PlacesFixture, "who has lost that very coordinator comes for a vote") {
  stands_by();
  step(AgentFollows{{2, "h5:1"}});
  says("a", voter("a"));
  CHECK_FALSE(order<Redirect>("a").has_value());
  CHECK(order<Candidate>("a").has_value());
}

TEST_CASE_METHOD(PlacesFixture, "a newcomer waits where the coordinator was lost") {
  stands_by();
  step(AgentFollows{{2, "h1:1"}});
  step(AgentFollows{{2, ""}});
  says("x", newcomer("x"));
  CHECK(order<Candidate>("x").has_value());
  CHECK(machine_->leader() == Leader{2, ""});
}

TEST_CASE_METHOD(PlacesFixture, "a candidate tells that the coordinator of its voters was lost") {
  stands_by();
  says("x", newcomer("x"));
  CHECK(machine_->leader() == Leader{});
  says("a", voter("a"));
  CHECK(machine_->leader() == Leader{2, ""});
}

TEST_CASE_METHOD(PlacesFixture, "a coordinator leads once it has begun a round") {
  is_first();
  hears_of(0, "");
  CHECK(machine_->leader() == Leader{});
  for (const char* node : {"a", "b", "c"}) says(node, newcomer(node));
  CHECK(machine_->leader() == Leader{1, "h0:1"});
}

TEST_CASE_METHOD(PlacesFixture, "a new coordinator is announced at all places of the job") {
  stands_by();
  Join own = voter("a");
  own.voter.colocated = true;
  for (const Join& join : {own, voter("b")}) says(join.node, join);
  for (const char* node : {"a", "b"}) {
    const RequestVote elect = ordered<RequestVote>(node);
    const auto actions =
        machine_->step(FromPeer{peers_[node], Vote{elect.epoch, elect.clock_us}}, now_);
    for (const CoordinatorAction& action : actions)
      if (const auto* herald = std::get_if<AnnounceLeader>(&action))
        CHECK(herald->endpoints == std::vector<std::string>{"h0:1", "h1:1", "h2:1", "h5:1"});
  }
  CHECK(machine_->epoch() == 3);
}

TEST_CASE_METHOD(PlacesFixture, "voters are not sent to a coordinator that they have lost") {
  stands_by();
  says("a", voter("a"));
  step(HigherEpoch{2, "h5:1"});
  CHECK_FALSE(order<Redirect>("a").has_value());
  step(HigherEpoch{3, "h6:1"});
  CHECK(ordered<Redirect>("a").coordinator == "h6:1");
}

}  // namespace
}  // namespace ddprun
