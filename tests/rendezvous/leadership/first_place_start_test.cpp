#include "rendezvous/leadership/first_place_start.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 6'000ms;
using Endpoints = std::vector<std::string>;

// Gives the tests the first of the places a, b and c, which has asked the others.
class FirstPlaceStartFixture {
 protected:
  FirstPlaceStartFixture() { start_.ask(kStart); }
  bool hear(const Leader& leader, bool all) { return start_.hear(leader, all, kStart); }
  bool hear_later(const Leader& leader, bool all) {
    return start_.hear(leader, all, kStart + kPatience);
  }
  std::optional<Endpoints> ask_again() { return start_.ask(kStart + kAskPause); }

  FirstPlaceStart start_{true, {"b:1", "c:1"}, kPatience};
};

TEST_CASE("a place that does not begin the job asks nobody") {
  FirstPlaceStart other{false, {"b:1"}, kPatience};
  CHECK_FALSE(other.waits());
  CHECK(other.ask(kStart) == std::nullopt);
  CHECK(other.next_question() == std::nullopt);
  CHECK_FALSE(other.hear({}, true, kStart));
}

TEST_CASE("the first place asks the others, and awaits their answers") {
  FirstPlaceStart first{true, {"b:1", "c:1"}, kPatience};
  CHECK(first.waits());
  CHECK(first.next_question() == TimePoint{});
  CHECK(first.ask(kStart) == Endpoints{"b:1", "c:1"});
  CHECK(first.ask(kStart + 1h) == std::nullopt);
  CHECK(first.next_question() == std::nullopt);
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "the job begins where nobody has told of a leader") {
  CHECK(hear({}, false));
  CHECK_FALSE(start_.waits());
  CHECK(start_.next_question() == std::nullopt);
  CHECK_FALSE(hear({}, true));
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "a leader that is named is asked as well") {
  CHECK_FALSE(hear({4, "d:1"}, true));
  CHECK(start_.waits());
  CHECK(start_.next_question() == kStart + kAskPause);
  CHECK(start_.ask(kStart + kAskPause - 1ms) == std::nullopt);
  CHECK(ask_again() == Endpoints{"b:1", "c:1", "d:1"});
}

TEST_CASE_METHOD(FirstPlaceStartFixture,
                 "once a leader was named, silence is no proof of its end") {
  CHECK_FALSE(hear({4, "d:1"}, true));
  CHECK_FALSE(hear_later({}, false));
  CHECK(start_.waits());
  CHECK(hear_later({}, true));
  CHECK_FALSE(start_.waits());
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "nodes of a job that was named get time to come here") {
  CHECK_FALSE(hear({4, ""}, true));
  CHECK_FALSE(start_.hear({}, true, kStart + kPatience - 1ms));
  CHECK(start_.waits());
  CHECK(start_.next_question() == kStart + kPatience - 1ms + kAskPause);
  CHECK(hear_later({}, true));
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "a leader of nowhere is looked for where one was before") {
  CHECK_FALSE(hear({4, "d:1"}, true));
  CHECK_FALSE(hear({5, ""}, true));
  CHECK(ask_again() == Endpoints{"b:1", "c:1", "d:1"});
  CHECK_FALSE(hear({6, "e:1"}, true));
  CHECK(start_.ask(kStart + 1h) == Endpoints{"b:1", "c:1", "e:1"});
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "a leader of nowhere keeps the job from beginning, too") {
  CHECK_FALSE(hear({5, ""}, true));
  CHECK(ask_again() == Endpoints{"b:1", "c:1"});
  CHECK_FALSE(hear_later({}, false));
  CHECK(hear_later({}, true));
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "where a leader was is asked before the job begins") {
  CHECK_FALSE(hear({0, "d:1"}, true));
  CHECK(ask_again() == Endpoints{"b:1", "c:1", "d:1"});
  CHECK_FALSE(hear_later({0, "d:1"}, false));
  CHECK(hear_later({0, "d:1"}, true));
}

TEST_CASE_METHOD(FirstPlaceStartFixture, "who gives up asks nobody, and begins nothing") {
  start_.give_up();
  CHECK_FALSE(start_.waits());
  CHECK(ask_again() == std::nullopt);
  CHECK_FALSE(hear({}, true));
}

}  // namespace
}  // namespace ddprun
