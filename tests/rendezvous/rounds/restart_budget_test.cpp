#include "rendezvous/rounds/restart_budget.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr RestartPolicy kPlain;
constexpr RestartPolicy kPerHour{.counted = CountedRestarts::kWithinWindow, .window_ms = 3'600'000};
constexpr RestartPolicy kPerProgress{.counted = CountedRestarts::kSinceProgress};

/// A job whose failures come one after another.
class Failing {
 public:
  Failing(int restarts_max, const RestartPolicy& policy) : budget_{restarts_max, policy} {}

  /// It fails after that time, at that step. Returns why it is not restarted; "": it is.
  std::string fails(Clock::duration after, std::int64_t step = -1,
                    const std::string& fingerprint = "") {
    now_ += after;
    const std::string why = budget_.spend(
        {.restarts = restarts_, .step = step, .fingerprint = fingerprint, .at = now_});
    if (why.empty()) ++restarts_;
    return why;
  }
  bool goes_on(Clock::duration after, std::int64_t step = -1) { return fails(after, step).empty(); }
  Clock::duration pause() const { return budget_.resumes_at() - now_; }
  int left() const { return budget_.left(restarts_, now_); }
  const RestartBudget& budget() const { return budget_; }

 private:
  RestartBudget budget_;
  TimePoint now_{};
  int restarts_ = 0;
};

TEST_CASE("a plain budget counts all restarts, and is known to be spent at once") {
  Failing job{2, kPlain};
  CHECK_FALSE(job.budget().is_spent_by(1));
  CHECK(job.budget().is_spent_by(2));
  CHECK(job.left() == 2);
  CHECK(job.goes_on(1s, 7));
  CHECK(job.left() == 1);
}

TEST_CASE("of a rate only the restarts within the time count") {
  Failing job{2, kPerHour};
  CHECK(job.goes_on(0s));
  CHECK(job.goes_on(10min));
  CHECK(job.left() == 0);
  CHECK(job.fails(49min) == "there were 2 within 1h (--max-restarts 2/1h)");
  CHECK(job.goes_on(2min));
  CHECK(job.fails(1min) == "there were 2 within 1h (--max-restarts 2/1h)");
}

TEST_CASE("a restart counts until the time of the rate is over") {
  Failing job{1, kPerHour};
  CHECK(job.goes_on(0s));
  CHECK(job.budget().left(1, TimePoint{} + 1h) == 0);
  CHECK(job.budget().left(1, TimePoint{} + 1h + 1ms) == 1);
  CHECK_FALSE(job.goes_on(1h));
}

TEST_CASE("a rate holds however far the job comes") {
  Failing job{1, kPerHour};
  CHECK(job.goes_on(0s, 10));
  CHECK_FALSE(job.goes_on(1min, 20));
}

TEST_CASE("progress fills the budget up again, and steps that are done again are none") {
  Failing job{2, kPerProgress};
  CHECK(job.goes_on(1s, 10));
  CHECK(job.goes_on(1s, 10));
  CHECK(job.goes_on(1s, 11));
  CHECK(job.left() == 1);
  CHECK(job.goes_on(1s, 4));
  CHECK(job.fails(1s, 9) == "2 in a row gained no step (--max-restarts 2@progress)");
}

TEST_CASE("a program that tells no steps makes no progress") {
  Failing job{2, kPerProgress};
  CHECK(job.goes_on(1s));
  CHECK(job.goes_on(1s));
  CHECK(job.fails(1s) ==
        "2 in a row gained no step, as workers tell none (--max-restarts 2@progress)");
}

TEST_CASE("without restarts there is none, whatever counts") {
  CHECK_FALSE(Failing(0, kPerHour).goes_on(1s, 5));
  CHECK_FALSE(Failing(0, kPerProgress).goes_on(1s, 5));
  CHECK(RestartBudget(0, kPlain).is_spent_by(0));
}

TEST_CASE("a pause doubles while nothing is gained, up to its longest, and goes back") {
  Failing job{100, {.delay_min_ms = 0, .delay_max_ms = 5'000}};
  std::vector<Clock::duration> pauses;
  for (const std::int64_t step : {3, 3, 3, 2, 3, 3, 4, 4}) {
    CHECK(job.goes_on(1min, step));
    pauses.push_back(job.pause());
  }
  CHECK(pauses == std::vector<Clock::duration>{0s, 1s, 2s, 4s, 5s, 5s, 0s, 1s});
}

TEST_CASE("a pause grows from its least") {
  Failing job{100, {.delay_min_ms = 3'000, .delay_max_ms = 60'000}};
  std::vector<Clock::duration> pauses;
  for (int i = 0; i < 7; ++i) {
    CHECK(job.goes_on(1min));
    pauses.push_back(job.pause());
  }
  CHECK(pauses == std::vector<Clock::duration>{3s, 6s, 12s, 24s, 48s, 60s, 60s});
}

TEST_CASE("a pause without a longest one stays as it is, and no number of restarts breaks it") {
  Failing job{1000, {.delay_min_ms = 2'000, .delay_max_ms = 2'000}};
  Failing growing{1000, {.delay_min_ms = 1, .delay_max_ms = 2'592'000'000}};
  for (int i = 0; i < 200; ++i) {
    CHECK(job.goes_on(1s));
    CHECK(growing.goes_on(1s));
  }
  CHECK(job.pause() == 2s);
  CHECK(growing.pause() == std::chrono::hours{24 * 30});
}

TEST_CASE("the same failure again and again ends the job at its limit") {
  Failing job{100, {.same_failure_limit = 3}};
  CHECK(job.fails(1s, 5, "KeyError").empty());
  CHECK(job.fails(1s, 4, "KeyError").empty());
  CHECK(job.fails(1s, 5, "KeyError") ==
        "the same failure 3 times, no step gained (--same-failure-limit 3)");
}

TEST_CASE("another failure, a further step and a cause that is not known begin the count again") {
  Failing job{100, {.same_failure_limit = 2}};
  CHECK(job.fails(1s, 5, "KeyError").empty());
  CHECK(job.fails(1s, 5, "OSError").empty());
  CHECK(job.fails(1s, 6, "OSError").empty());
  CHECK(job.fails(1s, 6, "").empty());
  CHECK(job.fails(1s, 6, "").empty());
  CHECK(job.fails(1s, 6, "OSError").empty());
  CHECK_FALSE(job.fails(1s, 6, "OSError").empty());
}

TEST_CASE("failures of a program that tells no steps are the same, too") {
  Failing job{100, {.same_failure_limit = 2}};
  CHECK(job.fails(1s, -1, "KeyError").empty());
  CHECK_FALSE(job.fails(1s, -1, "KeyError").empty());
}

TEST_CASE("budgets and pauses are spelled as the command line has them") {
  CHECK(budget_text(3, kPlain) == "3");
  CHECK(budget_text(3, kPerHour) == "3/1h");
  CHECK(budget_text(3, {.counted = CountedRestarts::kWithinWindow, .window_ms = 90'000}) ==
        "3/90s");
  CHECK(budget_text(3, {.counted = CountedRestarts::kWithinWindow, .window_ms = 1'500}) ==
        "3/1.5s");
  CHECK(budget_text(3, kPerProgress) == "3@progress");
  CHECK(delay_text(kPlain) == "0");
  CHECK(delay_text({.delay_min_ms = 0, .delay_max_ms = 60'000}) == "0:1m");
  CHECK(delay_text({.delay_min_ms = 5'000, .delay_max_ms = 5'000}) == "5s");
  CHECK(restart_number_text(2, 3, kPlain) == "2 of 3");
  CHECK(restart_number_text(7, 3, kPerHour) == "7 (--max-restarts 3/1h)");
}

}  // namespace
}  // namespace ddprun
