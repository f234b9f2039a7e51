// Workers that print an exception and exit with code 0.
#include <string>

#include "rendezvous/verdict/judge_end.hpp"
#include "rendezvous/verdict/root_cause_analysis.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const TimePoint kDoneAt{100s};
const std::string kPrinted =
    "Traceback (most recent call last):\n  File \"/t.py\", line 4, in f\nKeyError: 'x'\n";

WorkerEnd done_with(int rank, std::string err, std::chrono::milliseconds before = 100ms) {
  EndClues clues{.rank = rank, .ended = kDoneAt};
  clues.err = {std::move(err), {{0, kDoneAt - before}}};
  return judge_end(clues);
}

WorkerEnd reset_by_peer(int rank) {
  EndClues clues{.rank = rank, .status = {.code = 1}, .ended = kDoneAt};
  clues.err.text = "error: Connection reset by peer\n";
  return judge_end(clues);
}

Verdict verdict_of(const std::vector<WorkerEnd>& ends) {
  RootCauseAnalysis analysis;
  analysis.begin_round(1);
  analysis.seat("n", "h", 0, 4);
  analysis.ended("n", WorkersEnded{1, -1, ends});
  const auto verdict = analysis.decide();
  REQUIRE(verdict);
  return *verdict;
}

TEST_CASE("an exception that is printed right before code 0 is noted, and blames nobody yet") {
  const WorkerEnd end = done_with(1, kPrinted);
  CHECK(end.blame == Blame::kDone);
  CHECK(end.kind == FailureKind::kException);
  CHECK(end.fault.type == "KeyError");
  CHECK(end.began_us == microseconds(kDoneAt - 100ms));
}

TEST_CASE("what a worker says that ends well is not kept") {
  CHECK(done_with(1, "Good bye\n").says.empty());
  CHECK(done_with(1, "Good bye\n").fault == Fault{});
}

TEST_CASE("what was printed long before code 0, or only follows from others, is not noted") {
  CHECK(done_with(1, kPrinted, 4s).fault.type.empty());
  CHECK(done_with(1, kPrinted + "epoch 2\nepoch 3\n").fault.type.empty());
  CHECK(done_with(1, "Exception in thread Thread-1 (f):\n" + kPrinted).fault.type.empty());
  CHECK(done_with(1,
                  "Traceback (most recent call last):\n  File \"/t.py\", line 4, in f\n"
                  "ConnectionResetError: [Errno 104] Connection reset by peer\n")
            .kind == FailureKind::kExitCode);
}

TEST_CASE("what torch has marked as uncaught counts before code 0, whatever a shell says then") {
  const std::string marked =
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/t.py\", line 4, in f\n"
      "[rank1]: KeyError: 'x'\n";
  CHECK(done_with(1, marked + "saving\nthe\nlog\n").fault.line == 4);
  CHECK(done_with(1, marked, 9s).fault.line == 4);
  CHECK(done_with(1, marked, 11s).fault.line == 0);
}

TEST_CASE("who exits with code 0 after an exception is the cause of what its peers lose") {
  const Verdict found =
      verdict_of({done_with(0, "Good bye\n"), done_with(1, kPrinted), reset_by_peer(2)});
  CHECK(found.cause.ranks == "1");
  CHECK(found.cause.sentence ==
        "rank 1 on h exited with code 0 after printing KeyError at t.py:4 in f: 'x'");
  CHECK_THAT(found.cause.hint, contains("pipefail"));
  REQUIRE(found.followers.size() == 1);
  CHECK(found.followers[0].ranks == "2");
}

TEST_CASE("who exits with code 0 after an exception is no cause where another fails by itself") {
  EndClues clues{.rank = 2, .status = {.code = 3}, .ended = kDoneAt};
  const Verdict found = verdict_of({done_with(1, kPrinted), judge_end(clues)});
  CHECK(found.cause.ranks == "2");
  CHECK(found.also.empty());
  CHECK(found.followers.empty());
}

TEST_CASE("ranks that swallow the same exception are one cause, and those of others are not") {
  const std::string other = "Traceback (most recent call last):\n  File \"/t.py\", line 9, in g\n";
  const Verdict found = verdict_of({done_with(0, kPrinted), done_with(1, kPrinted),
                                    done_with(3, other + "ValueError: y\n"), reset_by_peer(2)});
  CHECK(found.cause.ranks == "0-1");
}

}  // namespace
}  // namespace ddprun
