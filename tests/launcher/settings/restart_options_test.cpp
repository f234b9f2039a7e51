#include "launcher/settings/restart_options.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

Result<RestartRules> rules(const std::string& budget, const std::string& delay = "0",
                           const std::string& limit = "") {
  Settings settings;
  settings.set("max-restarts", {budget, "--max-restarts", true});
  settings.set("restart-delay", {delay, "--restart-delay", true});
  settings.set("same-failure-limit", {limit, "--same-failure-limit", true});
  return parse_restarts(settings);
}
std::string complaint(const Result<RestartRules>& result) {
  return result ? "" : result.error().message;
}

TEST_CASE("a budget is a number, a rate, or a number that progress fills up") {
  CHECK(rules("3")->restarts_max == 3);
  CHECK(rules("3")->policy == RestartPolicy{});
  CHECK(rules("3/1h")->restarts_max == 3);
  CHECK(rules("3/1h")->policy.window_ms == 3'600'000);
  CHECK(rules("3/90")->policy.window_ms == 90'000);
  CHECK(rules("0@progress")->policy.counted == CountedRestarts::kSinceProgress);
}

TEST_CASE("what is no budget is named with what is one") {
  for (const char* text : {"", "x", "-1", "3/", "/1h", "3/0", "3/31d", "3/1w", "1001/1h", "3@steps",
                           "@progress", "3@progress/1h", "3 /1h", "3.5"}) {
    INFO(text);
    CHECK_THAT(
        complaint(rules(text)),
        contains("--max-restarts '" + std::string{text} + "': expected") && contains("3@progress"));
  }
}

TEST_CASE("the message about a rate that is too high, or over too long a time, has the limits") {
  for (const char* text : {"1001/1h", "3/31d"})
    CHECK_THAT(complaint(rules(text)), contains("at most 1000 within at most 30 days"));
  CHECK_THAT(complaint(rules("3,5")), !contains("30 days"));
}

TEST_CASE("a pause is a time, or a first and a longest one") {
  CHECK(rules("3", "5")->policy.delay_max_ms == 5'000);
  CHECK(rules("3", "0:60")->policy.delay_min_ms == 0);
  CHECK(rules("3", "1s:10m")->policy.delay_max_ms == 600'000);
  CHECK(
      complaint(rules("3", "60:0")) ==
      "--restart-delay '60:0': the longest pause (0) is shorter than the first one (60): expected "
      "FIRST:MAX, as 0:60");
  for (const char* text : {"", ":", "5:", ":5", "1:2:3", "x", "-1:5"}) {
    INFO(text);
    CHECK_THAT(complaint(rules("3", text)), contains("--restart-delay"));
  }
}

TEST_CASE("a failure is the same from the second time on") {
  CHECK(rules("3", "0", "2")->policy.same_failure_limit == 2);
  CHECK(rules("3", "0", "")->policy.same_failure_limit == 0);
  CHECK(complaint(rules("3", "0", "1")) ==
        "--same-failure-limit '1': expected a whole number from 2 up");
}

}  // namespace
}  // namespace ddprun
