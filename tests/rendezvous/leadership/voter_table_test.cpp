#include "rendezvous/leadership/voter_table.hpp"

#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("nodes and witnesses that follow are counted apart, and the undecided") {
  VoterTable voters = members(3, 3);
  voters.put({.id = "w", .witness = true});
  CHECK(voters.nodes_following() == 3);
  CHECK(voters.witnesses_following() == 1);
  CHECK(voters.undecided() == 0);

  voters.set_stance(*voters.find("a"), Stance::kUndecided);
  voters.set_stance(*voters.find("w"), Stance::kUndecided);
  CHECK(voters.nodes_following() == 2);
  CHECK(voters.witnesses_following() == 0);
  CHECK(voters.undecided() == 2);

  voters.set_stance(*voters.find("a"), Stance::kFollows);
  CHECK(voters.nodes_following() == 3);
  CHECK(voters.undecided() == 1);
}

TEST_CASE("an agent that is no voter counts nowhere until it becomes one") {
  VoterTable voters;
  voters.put({.id = "a", .is_voter = false});
  voters.put({.id = "b", .is_voter = false, .stance = Stance::kUndecided});
  CHECK(voters.nodes_following() == 0);
  CHECK(voters.undecided() == 0);
  CHECK_FALSE(voters.find("a")->follows());

  voters.make_voter(*voters.find("a"));
  voters.make_voter(*voters.find("b"));
  CHECK(voters.nodes_following() == 1);
  CHECK(voters.undecided() == 1);
  CHECK(voters.find("a")->follows());
  CHECK_FALSE(voters.find("b")->follows());
}

TEST_CASE("who joins again is one voter, and who leaves is none") {
  VoterTable voters = members(2, 2);
  voters.put({.id = "a", .stance = Stance::kUndecided});
  CHECK(voters.size() == 2);
  CHECK(voters.nodes_following() == 1);
  CHECK(voters.undecided() == 1);

  voters.remove("a");
  voters.remove("nobody");
  CHECK(voters.find("a") == nullptr);
  CHECK(voters.size() == 1);
  CHECK(voters.undecided() == 0);
  CHECK(voters.nodes_following() == 1);
}

}  // namespace
}  // namespace ddprun
