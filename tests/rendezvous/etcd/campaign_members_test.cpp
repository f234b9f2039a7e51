// Campaign: until when the members that it has written down are held.
#include "tests/rendezvous/etcd/fake_etcd.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// Gives the tests a coordinator that has written down a member, in an etcd that answers at once.
class WrittenMember {
 protected:
  WrittenMember() {
    happens(Campaign::Seek{});
    happens(Campaign::WriteMembers{{"n1"}});
  }
  void happens(const Campaign::Event& event) {
    for (std::optional<Campaign::Event> next = event; next;) {
      const auto actions = campaign_.step(*std::exchange(next, std::nullopt), now_);
      for (const Campaign::Action& action : actions) {
        if (const auto* ask = std::get_if<Campaign::Ask>(&action))
          next = Campaign::Answer{etcd_.answer(ask->request, "a:1", now_)};
        if (const auto* held = std::get_if<Campaign::Held>(&action)) held_ = *held;
      }
    }
  }
  void goes_on() {
    REQUIRE(campaign_.next_tick());
    now_ = *campaign_.next_tick();
    happens(Campaign::Tick{});
  }

  FakeEtcd etcd_;
  Campaign campaign_{{"a:1", 5s, 1}};
  TimePoint now_ = TimePoint{} + 1h;
  Campaign::Held held_{};
};

TEST_CASE_METHOD(WrittenMember, "members are held for longer once their lease is renewed") {
  const TimePoint written = now_;
  const TimePoint held = held_.members;
  REQUIRE(held > written + 60s);
  while (held_.members == held && now_ < written + 1min) goes_on();
  CHECK(now_ > written);
  CHECK(held_.members == held + (now_ - written));
}

}  // namespace
}  // namespace ddprun
