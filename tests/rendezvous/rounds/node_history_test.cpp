#include "rendezvous/rounds/node_history.hpp"

#include <chrono>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Strikes = std::map<std::string, int>;

constexpr NodePolicy kThreeInAMinute{.strikes = 3, .window_ms = 60'000};
const TimePoint kStart{1h};

NodeFailure failure(const std::string& host, const std::string& fingerprint,
                    TimePoint at = kStart) {
  return {.host = host,
          .at = at,
          .kind = FailureKind::kException,
          .fingerprint = fingerprint,
          .run_id = "job",
          .sentence = "rank 1 failed"};
}

NodeFailure loss(const std::string& host) {
  NodeFailure lost = failure(host, "the same for all");
  lost.kind = FailureKind::kNodeLost;
  return lost;
}

NodeHistory history_of(const std::vector<NodeFailure>& failures) {
  NodeHistory history{kThreeInAMinute};
  for (const NodeFailure& one : failures) history.add(one);
  return history;
}

TEST_CASE("each failure of a node alone is a strike") {
  const auto history = history_of({failure("b", "ecc"), failure("b", "ecc"), failure("a", "nan")});
  CHECK(history.strikes(kStart) == Strikes{{"a", 1}, {"b", 2}});
}

TEST_CASE("a failure that is on other nodes, too, is the program's, and strikes none") {
  CHECK(history_of({failure("a", "bug"), failure("b", "bug"), failure("c", "bug")})
            .strikes(kStart)
            .empty());
  CHECK(history_of({failure("a", "bug"), failure("b", "bug")}).strikes(kStart).empty());
  CHECK(history_of({failure("a", "bug"), failure("b", "bug"), failure("a", "bug")})
            .strikes(kStart)
            .empty());
}

TEST_CASE("one failure alike elsewhere does not make up for those of a node") {
  const auto history = history_of(
      {failure("b", "crash"), failure("b", "crash"), failure("b", "crash"), failure("c", "crash")});
  CHECK(history.strikes(kStart) == Strikes{{"b", 3}});
}

TEST_CASE("nodes that are lost are struck, however many are") {
  CHECK(history_of({loss("a"), loss("b"), loss("c")}).strikes(kStart) ==
        Strikes{{"a", 1}, {"b", 1}, {"c", 1}});
}

TEST_CASE("failures of which nothing is known to compare are strikes") {
  CHECK(history_of({failure("a", ""), failure("b", "")}).strikes(kStart) ==
        Strikes{{"a", 1}, {"b", 1}});
}

TEST_CASE("a failure counts as long as the window") {
  const auto history = history_of({failure("b", "ecc", kStart)});
  CHECK(history.strikes(kStart + 60s) == Strikes{{"b", 1}});
  CHECK(history.strikes(kStart + 60s + 1ms).empty());
}

TEST_CASE("an old failure elsewhere excuses none within the window") {
  const auto history = history_of({failure("a", "crash", kStart - 2min),
                                   failure("a", "crash", kStart - 2min), failure("b", "crash")});
  CHECK(history.strikes(kStart) == Strikes{{"b", 1}});
}

TEST_CASE("what is recalled takes the place of what was known") {
  auto history = history_of({failure("b", "ecc")});
  const auto question = history.begin_recall(kStart);
  REQUIRE(question);
  CHECK(history.awaited_until(kStart) == kStart + kRecallTimeout);
  CHECK_FALSE(history.awaited_until(kStart + kRecallTimeout));
  history.recalled(*question, std::vector{failure("c", "ecc")});
  CHECK_FALSE(history.awaited_until(kStart));
  CHECK(history.strikes(kStart) == Strikes{{"c", 1}});
}

TEST_CASE("an answer that comes after the next question is not taken for that one's") {
  NodeHistory history{kThreeInAMinute};
  const auto slow = history.begin_recall(kStart);
  history.add(failure("b", "ecc"));
  const auto next = history.begin_recall(kStart + 3s);
  REQUIRE((slow && next));
  history.recalled(*slow, std::vector<NodeFailure>{});
  CHECK(history.awaited_until(kStart + 3s));
  CHECK(history.strikes(kStart) == Strikes{{"b", 1}});
  history.recalled(*next, std::vector<NodeFailure>{});
  CHECK(history.strikes(kStart).empty());
}

TEST_CASE("what a wrong clock has dated into the future does not count for ever") {
  CHECK(history_of({failure("b", "ecc", kStart + 2h)}).strikes(kStart).empty());
  CHECK(history_of({failure("b", "ecc", kStart + 1min)}).strikes(kStart) == Strikes{{"b", 1}});
}

TEST_CASE("where nothing is remembered elsewhere, what was known stays") {
  auto history = history_of({failure("b", "ecc")});
  const auto question = history.begin_recall(kStart);
  REQUIRE(question);
  history.recalled(*question, std::nullopt);
  CHECK_FALSE(history.awaited_until(kStart));
  CHECK(history.strikes(kStart) == Strikes{{"b", 1}});
}

TEST_CASE("the oldest failures are forgotten when there are too many") {
  NodeHistory history{kThreeInAMinute};
  history.add(failure("a", "first"));
  for (int i = 0; i < kNodeFailuresMax; ++i) history.add(failure("b", "later"));
  CHECK(history.strikes(kStart) == Strikes{{"b", kNodeFailuresMax}});
  std::vector<NodeFailure> many(kNodeFailuresMax + 5, failure("c", "crash"));
  many.push_back(failure("a", "first", kStart - 30s));
  const auto question = history.begin_recall(kStart);
  REQUIRE(question);
  history.recalled(*question, many);
  CHECK(history.strikes(kStart) == Strikes{{"c", kNodeFailuresMax}});
}

TEST_CASE("nobody is asked where no strikes count") {
  NodeHistory history{NodePolicy{}};
  CHECK_FALSE(history.counts());
  CHECK_FALSE(history.begin_recall(kStart));
  CHECK_FALSE(history.awaited_until(kStart));
}

}  // namespace
}  // namespace ddprun
