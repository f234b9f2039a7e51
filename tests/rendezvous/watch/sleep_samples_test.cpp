#include "rendezvous/watch/sleep_samples.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class SamplesFixture {
 protected:
  /// One look, which sees that; "": the rank runs, or waits for others.
  void look(const std::string& doing) {
    REQUIRE(samples_.due());
    now_ = *samples_.due();
    samples_.ask(1, ++number_, now_);
    samples_.take({number_, {.ranks = doing.empty() ? "" : "3", .doing = doing}, true});
  }

  TimePoint now_ = TimePoint{} + 10s;
  int number_ = 40;
  SleepSamples samples_{3, now_};
};

TEST_CASE_METHOD(SamplesFixture, "the place at which a rank sleeps most often is reported") {
  for (const char* doing :
       {"", "sleeps at load (a.py:1)", "", "sleeps at load (a.py:1)", "sleeps at wait (b.py:2)"})
    look(doing);
  CHECK(samples_.sentence() == "in 2 of 5 looks it sleeps at load (a.py:1)");
}

TEST_CASE_METHOD(SamplesFixture, "a place that only one look has seen is not reported") {
  CHECK(samples_.sentence().empty());
  look("sleeps at load (a.py:1)");
  look("sleeps at wait (b.py:2)");
  CHECK(samples_.sentence().empty());
}

TEST_CASE_METHOD(SamplesFixture, "after some looks, with growing pauses, there are no more") {
  Clock::duration pause{0};
  for (int i = 0; i < kSleepLooks; ++i) {
    const TimePoint before = now_;
    look("");
    CHECK((i == 0 || now_ - before > pause));
    pause = now_ - before;
  }
  CHECK_FALSE(samples_.due());
  CHECK(now_ < TimePoint{} + 14s);
}

TEST_CASE_METHOD(SamplesFixture, "a look asks one rank for a sample, and takes one answer") {
  const Inspect question = samples_.ask(7, 50, now_);
  CHECK(question.round == 7);
  CHECK(question.inspection == 50);
  CHECK(question.first == "3");
  CHECK(question.sample);
  CHECK_FALSE(question.stopping);
  samples_.take({49, {.ranks = "3", .doing = "sleeps"}, true});
  for (int i = 0; i < 3; ++i) samples_.take({50, {.ranks = "3", .doing = "sleeps"}, true});
  CHECK(samples_.sentence().empty());
}

}  // namespace
}  // namespace ddprun
