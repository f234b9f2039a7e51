#include "rendezvous/leadership/leader_lease.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/rendezvous/leadership/voters.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// Gives the tests three followers, who were last heard at 1, 2 and 3 ms.
class FollowersFixture {
 protected:
  FollowersFixture() {
    int ms = 0;
    voters_.for_each([&](Voter& v) { v.confirmed = kStart + std::chrono::milliseconds{++ms}; });
  }
  TimePoint until(int needed) const { return followed_until(voters_, kFirst, needed, kTimeout); }

  VoterTable voters_ = members(3, 4);
};

TEST_CASE_METHOD(FollowersFixture, "enough follow until the last of them that is needed counts") {
  CHECK(until(1) == kStart + 3ms + kTimeout);
  CHECK(until(2) == kStart + 2ms + kTimeout);
  CHECK(until(3) == kStart + 1ms + kTimeout);
  CHECK(until(4) == TimePoint{});
}

TEST_CASE_METHOD(FollowersFixture, "where nobody is needed, enough follow for ever") {
  CHECK(until(0) == TimePoint::max());
  CHECK(until(-1) == TimePoint::max());
}

TEST_CASE_METHOD(FollowersFixture, "only members that follow count") {
  voters_.set_stance(*voters_.find("c"), Stance::kUndecided);
  voters_.put(newcomer("d")).confirmed = kStart + 9ms;
  CHECK(until(1) == kStart + 2ms + kTimeout);
  CHECK(until(3) == TimePoint{});
}

TEST_CASE("a voter that repeats what it heard had followed then") {
  Voter voter = newcomer("a");
  confirm(voter, microseconds(kStart), kStart + 5ms);
  CHECK(voter.confirmed == kStart);
  confirm(voter, microseconds(kStart + 5ms), kStart + 5ms);
  CHECK(voter.confirmed == kStart + 5ms);
}

TEST_CASE("what a voter repeats late or makes up changes nothing") {
  Voter voter = newcomer("a");
  voter.confirmed = kStart;
  confirm(voter, microseconds(kStart - 1ms), kStart + 5ms);
  CHECK(voter.confirmed == kStart);
  confirm(voter, microseconds(kStart + 6ms), kStart + 5ms);
  CHECK(voter.confirmed == kStart);
  voter.confirmed = TimePoint{} - 1ms;
  confirm(voter, 0, kStart);
  CHECK(voter.confirmed == TimePoint{} - 1ms);
}

TEST_CASE("a leader grants what it has, and at most a heartbeat timeout") {
  LeaderLease lease{kTimeout};
  lease.set_until(kStart + 3 * kTimeout);
  CHECK(lease.grant_ms(kStart) == 1'000);
  lease.set_until(TimePoint::max());
  CHECK(lease.grant_ms(kStart) == 1'000);
  lease.set_until(kStart + kTimeout);
  CHECK(lease.grant_ms(kStart) == 1'000);
  CHECK(lease.grant_ms(kStart + 1ms) == 999);
  CHECK(lease.grant_ms(kStart + kTimeout) == 0);
  CHECK(lease.grant_ms(kStart + kTimeout + 1ms) == 0);
}

// Gives the tests a lease whose end they set, and the number of times that it was looked at.
class LeaseFixture {
 protected:
  bool is_over(TimePoint now) {
    return lease_.is_found_over(now, [this] {
      ++looks_;
      return ends_;
    });
  }
  bool looks(TimePoint now, bool holds) {
    return lease_.looks(now, 1'000, [&] {
      ++looks_;
      return holds;
    });
  }

  LeaderLease lease_{kTimeout};
  TimePoint ends_ = kStart + kTimeout;
  int looks_ = 0;
};

TEST_CASE_METHOD(LeaseFixture, "a leader looks at its followers twenty times in a timeout") {
  CHECK_FALSE(is_over(kStart));
  CHECK_FALSE(is_over(kStart + 49ms));
  CHECK(looks_ == 1);
  CHECK_FALSE(is_over(kStart + 50ms));
  CHECK(looks_ == 2);
  CHECK(lease_.until() == ends_);
}

TEST_CASE_METHOD(LeaseFixture, "a lease is found over when it ends, and looked at just then") {
  ends_ = kStart + 20ms;
  CHECK_FALSE(is_over(kStart));
  CHECK_FALSE(is_over(kStart + 19ms));
  CHECK(looks_ == 1);
  CHECK(is_over(kStart + 20ms));
  CHECK(looks_ == 2);
}

TEST_CASE_METHOD(LeaseFixture, "a lease that is over is found so once in a pause") {
  ends_ = kStart - 1ms;
  CHECK(is_over(kStart));
  CHECK_FALSE(is_over(kStart + 49ms));
  CHECK(is_over(kStart + 50ms));
  CHECK(looks_ == 2);
}

TEST_CASE_METHOD(LeaseFixture, "after a look that found nothing the next one waits") {
  CHECK_FALSE(looks(kStart, false));
  CHECK(lease_.look_due() == TimePoint{});

  lease_.touch();
  CHECK_FALSE(looks(kStart + 4'999us, true));
  CHECK(looks_ == 1);
  CHECK(lease_.look_due() == kStart + 5ms);

  CHECK(looks(kStart + 5ms, true));
  CHECK(looks_ == 2);
  CHECK(lease_.look_due() == TimePoint{});
}

TEST_CASE_METHOD(LeaseFixture, "who asks again after a look is no reason for another one") {
  CHECK_FALSE(looks(kStart, false));
  CHECK_FALSE(looks(kStart, false));
  CHECK(looks_ == 1);
  CHECK(lease_.look_due() == TimePoint{});
}

TEST_CASE_METHOD(LeaseFixture, "after a look that found what was wanted none waits") {
  CHECK(looks(kStart, true));
  CHECK(looks(kStart, true));
  CHECK(looks_ == 2);
}

}  // namespace
}  // namespace ddprun
