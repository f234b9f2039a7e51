// WitnessMachine: whom a witness obeys, and to whom it gives its vote.
#include "rendezvous/service/witness_machine.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class WitnessFixture {
 protected:
  WitnessFixture() : machine_{[this] { return "w" + std::to_string(++ids_); }, "h9"} { now_ += 1h; }
  void invites(WitnessPeer by, const std::string& coordinator, std::int64_t epoch, int round) {
    take(machine_.invited(by, InviteWitness{"job", epoch, round, coordinator, 600'000}, now_));
  }
  void tells(WitnessPeer by, const CoordinatorMessage& message) {
    take(machine_.told(by, message, now_));
  }
  void passes(std::chrono::milliseconds time) {
    const TimePoint end = now_ + time;
    while (machine_.next_tick() && *machine_.next_tick() <= end) {
      now_ = std::max(now_, *machine_.next_tick());
      take(machine_.tick(now_));
    }
    now_ = end;
  }
  void is_lost(WitnessPeer peer) { take(machine_.lost(peer, now_)); }
  void take(const std::vector<WitnessAction>& actions) {
    for (const WitnessAction& action : actions) {
      if (const auto* say = std::get_if<SayTo>(&action)) said_.push_back(*say);
      if (const auto* away = std::get_if<SendAway>(&action)) away_ = *away;
      if (const auto* hang_up = std::get_if<HangUpOn>(&action)) hung_up_.push_back(hang_up->to);
    }
  }
  /// The last message of that kind, which is forgotten then.
  template <typename Message>
  std::optional<Message> said() {
    std::optional<Message> last;
    std::erase_if(said_, [&](const SayTo& say) {
      const auto* found = std::get_if<Message>(&say.message);
      if (found) last = *found;
      return found != nullptr;
    });
    return last;
  }
  bool hung_up(WitnessPeer peer) const { return std::ranges::count(hung_up_, peer) > 0; }
  /// It obeys the coordinator at h1, and votes in the first round of two nodes.
  void obeys() {
    invites(1, "h1:7", 1, 0);
    tells(1, Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1'000, .epoch = 1});
    tells(1, Reconfigure{{{1, 1, 1}, 3, true, 2, "0-1"}, true, true});
    tells(1,
          Beat{.clock_us = 2'000, .committed = 1, .epoch = 1, .revision = 1, .committed_nodes = 3});
    said_.clear();
  }

  int ids_ = 0;
  WitnessMachine machine_;
  TimePoint now_{};
  std::optional<SendAway> away_;
  std::vector<SayTo> said_;
  std::vector<WitnessPeer> hung_up_;
};

TEST_CASE_METHOD(WitnessFixture, "it joins who asks for its vote, beats, and knows the round") {
  invites(1, "h1:7", 1, 0);
  const auto join = said<Join>();
  REQUIRE(join.has_value());
  CHECK(join->witness);
  CHECK(join->host == "h9");
  tells(1, Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1'000, .epoch = 1});
  CHECK(said<Beat>()->echo_us == 1'000);
  tells(1, Reconfigure{{{1, 1, 1}, 3, true, 2, "0-1"}, true, true});
  CHECK(said<Beat>()->revision == 1);
  CHECK(machine_.leader(now_) == Leader{1, "h1:7"});
}

TEST_CASE_METHOD(WitnessFixture, "it sends others to the coordinator that it hears") {
  obeys();
  invites(2, "h2:7", 0, 1);
  REQUIRE(away_.has_value());
  CHECK(away_->to == 2);
  CHECK(away_->where == Redirect{"h1:7", 1});
  CHECK_FALSE(said<Join>().has_value());
}

TEST_CASE_METHOD(WitnessFixture, "another one gets the vote when the coordinator is silent") {
  obeys();
  passes(5'200ms);
  CHECK(hung_up(1));
  invites(2, "h2:7", 0, 1);
  const auto join = said<Join>();
  REQUIRE(join.has_value());
  CHECK(join->voter.committed == Configuration{{1, 1, 1}, 3, true, 2, "0-1"});
  CHECK(join->voter.old_lease_ms > 0);
  CHECK(join->node == "w2");  // the one that it had in that round
}

TEST_CASE_METHOD(WitnessFixture, "it promises once in an epoch") {
  obeys();
  is_lost(1);
  invites(2, "h2:7", 0, 1);
  tells(2, RequestVote{2, 5});
  CHECK(said<Vote>() == Vote{2, 5});
  tells(2, RequestVote{2, 6});
  CHECK_FALSE(said<Vote>().has_value());
}

TEST_CASE_METHOD(WitnessFixture, "it obeys nobody with a smaller epoch than it has promised") {
  obeys();
  is_lost(1);
  invites(2, "h2:7", 0, 1);
  tells(2, RequestVote{2, 5});
  is_lost(2);
  invites(3, "h1:7", 1, 1);
  tells(3, Joined{.heartbeat_timeout_ms = 5'000, .epoch = 1});
  CHECK(hung_up(3));
}

TEST_CASE_METHOD(WitnessFixture, "who finds no other votes for a second loses this one") {
  obeys();
  is_lost(1);
  invites(2, "h2:7", 0, 1);
  tells(2, Candidate{1});
  passes(900ms);
  CHECK_FALSE(hung_up(2));
  passes(200ms);
  CHECK(hung_up(2));
}

TEST_CASE_METHOD(WitnessFixture, "the same coordinator may come back over a new connection") {
  obeys();
  invites(2, "h1:7", 1, 1);
  CHECK(hung_up(1));
  CHECK(said<Join>()->incarnation == 2);
}

TEST_CASE_METHOD(WitnessFixture, "for a job that begins again it is another witness") {
  obeys();
  is_lost(1);
  invites(2, "h1:7", 1, 0);
  const auto join = said<Join>();
  CHECK(join->node == "w3");
  CHECK(join->voter == VoterState{});
}

TEST_CASE_METHOD(WitnessFixture, "a node that only wants to lead the job has not restarted it") {
  obeys();
  is_lost(1);
  invites(2, "h2:7", 0, 0);
  CHECK(said<Join>()->node == "w2");  // as it was
}

TEST_CASE_METHOD(WitnessFixture, "a candidate that comes for a vote gets the verdict") {
  obeys();
  tells(1, EndJob{.outcome = EndJob::Outcome::kFinished, .held = true});
  CHECK(said<EndAcknowledged>().has_value());
  is_lost(1);
  invites(2, "h2:7", 0, 1);
  tells(2, Candidate{1});
  CHECK(said<FinalStatus>()->end.outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(WitnessFixture,
                 "of a coordinator that is lost it tells the epoch, then the place") {
  obeys();
  is_lost(1);
  CHECK(machine_.leader(now_) == Leader{1, ""});
  passes(11s);
  CHECK(machine_.leader(now_) == Leader{0, "h1:7"});
  CHECK_FALSE(machine_.is_forgotten(now_));
  passes(600s);
  CHECK(machine_.is_forgotten(now_));
}

TEST_CASE_METHOD(WitnessFixture, "nobody has it remember a job for days") {
  take(machine_.invited(1, InviteWitness{"job", 1, 0, "h1:7", 30LL * 24 * 3'600'000}, now_));
  is_lost(1);
  passes(59min);
  CHECK_FALSE(machine_.is_forgotten(now_));
  passes(1min);
  CHECK(machine_.is_forgotten(now_));
}

TEST_CASE_METHOD(WitnessFixture, "of a job that is over it tells nothing") {
  obeys();
  tells(1, Dismiss{});
  CHECK(machine_.leader(now_) == Leader{});
}

}  // namespace
}  // namespace ddprun
