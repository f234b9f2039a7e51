#include "rendezvous/leadership/term.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// Gives the tests a leader that all four nodes of its committed round follow.
class TermFixture {
 protected:
  TermFixture() {
    term_.leads = true;
    term_.epoch = 1;
    for (int rank = 0; rank < 4; ++rank)
      put(member(NodeId(1, static_cast<char>('a' + rank)), rank, 4));
  }
  void put(Voter voter) {
    voter.confirmed = kStart;
    term_.commitment.hear(term_.voters.put(std::move(voter)).state);
  }
  /// A round that the committed one is followed by, with these nodes of the first one.
  void propose(const std::vector<NodeId>& nodes) {
    const int voters = static_cast<int>(nodes.size());
    term_.commitment.propose({kSecond, voters}, term_.voters);
    for (const NodeId& id : nodes) term_.voters.find(id)->state.proposed.member = true;
  }
  void take_witness() {
    term_.voters.put({.id = "w", .witness = true});
    term_.extra.take("w");
  }

  Term term_{kTimeout};
};

TEST_CASE_METHOD(TermFixture, "half of the voters keep a leader, and more than half elect one") {
  const Configuration four{kFirst, 4};
  CHECK(votes_needed(term_, four, 0) == 2);
  CHECK(votes_needed(term_, four, 1) == 1);
  term_.former.begin(false);
  CHECK(votes_needed(term_, four, 0) == 3);
  CHECK(votes_needed(term_, four, 1) == 2);
}

TEST_CASE("a leader without a round has nobody who could leave it") {
  CHECK(quorum_ends(Term{kTimeout}) == TimePoint::max());
}

TEST_CASE_METHOD(TermFixture, "a leader has its quorum for a timeout after it was heard of") {
  CHECK(quorum_ends(term_) == kStart + kTimeout);
  CHECK(has_quorum(term_, kStart + kTimeout - 1us));
  CHECK_FALSE(has_quorum(term_, kStart + kTimeout));
}

TEST_CASE_METHOD(TermFixture, "voters that have left for good need not follow") {
  term_.voters.remove("a");
  term_.voters.remove("b");
  term_.voters.remove("c");
  CHECK(quorum_ends(term_) == TimePoint{});
  term_.left = 1;
  CHECK(quorum_ends(term_) == kStart + kTimeout);
}

TEST_CASE_METHOD(TermFixture,
                 "an elected leader needs both rounds, and another one the committed") {
  propose({"a", "b"});
  term_.voters.find("a")->confirmed = kStart - 300ms;
  CHECK(quorum_ends(term_) == kStart + kTimeout);
  term_.former.begin(false);
  CHECK(quorum_ends(term_) == kStart - 300ms + kTimeout);
  term_.voters.find("a")->confirmed = term_.voters.find("b")->confirmed = kStart + 300ms;
  CHECK(quorum_ends(term_) == kStart + kTimeout);
}

TEST_CASE_METHOD(TermFixture, "who has left the committed round is still missing in the proposal") {
  term_.former.begin(false);
  propose({"a", "b", "c"});
  term_.left = 3;
  term_.voters.remove("a");
  term_.voters.remove("b");
  CHECK(quorum_ends(term_) == TimePoint{});
}

TEST_CASE_METHOD(TermFixture, "the first members whose agents listen may follow the leader") {
  for (const char* id : {"a", "b", "c", "d"}) term_.voters.find(id)->standby = id + ":9"s;
  CHECK(successors_among(term_, {"a", "b", "c", "d"}) ==
        std::vector<Successor>{{"a:9", 0}, {"b:9", 1}, {"c:9", 2}});
  term_.voters.find("a")->state.colocated = true;
  term_.voters.find("b")->standby = "";
  CHECK(successors_among(term_, {"gone", "a", "b", "d", "c"}) ==
        std::vector<Successor>{{"d:9", 3}, {"c:9", 4}});
}

TEST_CASE_METHOD(TermFixture, "counters are the highest of all voters that know a round") {
  term_.voters.find("a")->counters = {3, 1};
  term_.voters.find("b")->counters = {2, 5};
  Voter stranger = newcomer("new");
  stranger.counters = {9, 9};
  put(stranger);
  CHECK(counters_of_voters(term_) == JobCounters{3, 5});
}

TEST_CASE_METHOD(TermFixture, "all hear while no connection has ended") {
  CHECK(term_.voters.all_connected());
  term_.voters.find("c")->connected = false;
  CHECK_FALSE(term_.voters.all_connected());
}

TEST_CASE_METHOD(TermFixture, "a job is deserted when its witness alone is left of it") {
  take_witness();
  CHECK_FALSE(is_deserted(term_));
  for (const char* id : {"a", "b", "c", "d"}) term_.voters.remove(id);
  term_.left = 3;
  CHECK_FALSE(is_deserted(term_));
  term_.left = 4;
  CHECK(is_deserted(term_));

  term_.leads = false;
  CHECK_FALSE(is_deserted(term_));
  term_.leads = true;
  term_.extra.leave("w");
  CHECK_FALSE(is_deserted(term_));
}

TEST_CASE_METHOD(TermFixture, "a witness that votes is none of the nodes that desert a job") {
  take_witness();
  term_.extra.change(term_.voters.find("w"));
  for (const char* id : {"a", "b", "c", "d"}) term_.voters.remove(id);
  term_.left = 2;
  CHECK_FALSE(is_deserted(term_));
  term_.left = 3;
  CHECK(is_deserted(term_));
}

TEST_CASE_METHOD(TermFixture, "a witness is wanted where the job has several places") {
  CHECK(wants_witness(term_, {"a:1", "b:1"}));
  CHECK_FALSE(wants_witness(term_, {"a:1"}));
  take_witness();
  CHECK_FALSE(wants_witness(term_, {"a:1", "b:1"}));
}

TEST_CASE_METHOD(TermFixture, "a candidate wants a witness beside its own node alone") {
  term_.leads = false;
  CHECK_FALSE(wants_witness(term_, {"a:1", "b:1"}));
  term_.colocated = "a";
  CHECK(wants_witness(term_, {"a:1", "b:1"}));
  Term fresh{kTimeout};
  fresh.colocated = "a";
  CHECK_FALSE(wants_witness(fresh, {"a:1", "b:1"}));
}

TEST_CASE_METHOD(TermFixture, "a witness learns whether a leader invites it, and where that is") {
  CoordinatorRules rules;
  rules.run_id = "job";
  rules.terms.join_timeout = 60s;
  term_.endpoint = "a:1";
  term_.voters.find("b")->standby = "b:9";
  term_.colocated = "b";
  CHECK(invitation(term_, rules, 5) == InviteWitness{"job", 1, 5, "a:1", 60'000});
  term_.leads = false;
  CHECK(invitation(term_, rules, 0) == InviteWitness{"job", 0, 1, "b:9", 60'000});
  term_.colocated = "gone";
  CHECK(invitation(term_, rules, 0).coordinator == "a:1");
}

TEST_CASE_METHOD(TermFixture, "nodes elect alone when the witness's vote is not needed") {
  term_.former.begin(false);
  take_witness();
  CHECK(nodes_elect_alone(term_));
  term_.voters.remove("a");
  CHECK(nodes_elect_alone(term_));
  term_.voters.set_stance(*term_.voters.find("b"), Stance::kUndecided);
  CHECK_FALSE(nodes_elect_alone(term_));
  put(voting_witness(4, 4));
  CHECK_FALSE(nodes_elect_alone(term_));
  term_.left = 1;
  CHECK(nodes_elect_alone(term_));
}

TEST_CASE_METHOD(TermFixture, "nodes elect alone with a majority of the proposed round, too") {
  term_.former.begin(false);
  propose({"a", "b"});
  CHECK(nodes_elect_alone(term_));
  term_.voters.remove("a");
  CHECK_FALSE(nodes_elect_alone(term_));
  term_.former.end();
  CHECK(nodes_elect_alone(term_));
}

TEST_CASE_METHOD(TermFixture, "a round that counts on the witness is known to it once committed") {
  CHECK(witness_knows_round(term_));
  term_.former.begin(false);
  propose({"a", "b"});
  CHECK(witness_knows_round(term_));
  take_witness();
  CHECK(witness_knows_round(term_));
  term_.voters.remove("a");
  CHECK_FALSE(witness_knows_round(term_));
}

TEST_CASE_METHOD(TermFixture, "a voter that is admitted follows, and is informed") {
  term_.voters.set_stance(*term_.voters.find("b"), Stance::kUndecided);
  LeadershipActions actions;
  admit(term_, *term_.voters.find("b"), actions);
  CHECK(term_.voters.find("b")->follows());
  REQUIRE(actions.size() == 1);
  CHECK(std::get<AdmitVoter>(actions[0]).node == "b");
}

}  // namespace
}  // namespace ddprun
