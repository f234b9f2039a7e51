#include "agent/output/line_shape.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// What rank `rank` says; it is the worker of local rank `rank` - 8 and process 1000 + rank.
LineShape said(int rank, const std::string& text) {
  return {text, {.rank = rank, .local_rank = rank - 8, .pid = 1000 + rank}};
}

bool alike(const std::string& by_eight, const std::string& by_nine) {
  return LineSummary{said(8, by_eight)}.accepts(said(9, by_nine));
}

/// What is shown of lines of rank 8, 9, ...
std::string shown(const std::vector<std::string>& lines) {
  LineSummary summary{said(8, lines.front())};
  std::vector<int> ranks{8}, local_ranks{0};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const LineShape line = said(8 + static_cast<int>(i), lines[i]);
    REQUIRE(summary.accepts(line));
    summary.add(line);
    ranks.push_back(8 + static_cast<int>(i));
    local_ranks.push_back(static_cast<int>(i));
  }
  return summary.text(ranks, local_ranks);
}

TEST_CASE("equal lines say the same, and a step or a count has to be equal") {
  CHECK(alike("loading shard 3", "loading shard 3"));
  CHECK_FALSE(alike("loading shard 3", "loading shard 4"));
  CHECK_FALSE(alike("17 bad samples", "0 bad samples"));
  CHECK_FALSE(alike("step 1", "step one"));
  CHECK_FALSE(alike("step 1", "step 1 of 2"));
  CHECK_FALSE(alike("", "x"));
  CHECK(alike("", ""));
}

TEST_CASE("numbers of rank, process, time and fraction may differ, and addresses") {
  CHECK(alike("rank 8 on cuda:0", "rank 9 on cuda:1"));
  CHECK(alike("[rank8]: ready", "[rank9]: ready"));
  CHECK_FALSE(alike("rank 8 is ready", "rank 11 is ready"));
  CHECK(alike("started as 1008", "started as 1009"));
  CHECK(alike("child (pid: 77)", "child (pid: 90)"));
  CHECK(alike("PID=77 x", "PID=90 x"));
  CHECK(alike("pid = 77", "pid = 90"));
  CHECK_FALSE(alike("pid -> 77", "pid -> 90"));
  CHECK_FALSE(alike("rapid 77", "rapi 90"));
  CHECK(alike("2026-11-21 09:50:22,123 INFO x", "2026-11-22 10:50:22,9 INFO x"));
  CHECK(alike("at 9:50 o'clock", "at 10:01 o'clock"));
  CHECK(alike("now 1700000000", "now 1700000001"));
  CHECK(alike("now 1700000000123456789", "now 1700000001123456789"));
  CHECK(alike("took 153 ms", "took 12 ms"));
  CHECK(alike("took 15s.", "took 3s."));
  CHECK_FALSE(alike("took 15 steps", "took 3 steps"));
  CHECK(alike("loss 0.31", "loss 1e-05"));
  CHECK_FALSE(alike("loss 0.31", "loss nan"));
  CHECK_FALSE(alike("torch 2.11.0", "torch 2.12.0"));
  CHECK_FALSE(alike("peer 10.0.0.1", "peer 10.0.0.2"));
  CHECK(alike("at 0x7f00", "at 0xabc"));
}

TEST_CASE("what differs is shown: lists of ranks, the range of fractions, the first one's time") {
  CHECK(shown({"step 5", "step 5"}) == "step 5");
  CHECK(shown({"rank 8 on cuda:0", "rank 9 on cuda:1", "rank 10 on cuda:2"}) ==
        "rank 8-10 on cuda:0-2");
  CHECK(shown({"loss 0.31, lr 0.1", "loss 0.29, lr 0.1", "loss 0.35, lr 0.1"}) ==
        "loss 0.29..0.35, lr 0.1");
  CHECK(shown({"09:50:22 pid 1008 at 0x1", "09:50:23 pid 1009 at 0x2"}) == "09:50:22 pid * at *");
}

TEST_CASE("a number that is a rank by chance is equal, or the line is another one") {
  LineSummary zeros{said(8, "shard 0")};
  REQUIRE(zeros.accepts(said(11, "shard 0")));
  zeros.add(said(11, "shard 0"));
  CHECK_FALSE(zeros.accepts(said(9, "shard 1")));  // with 8 and 9 alone it could be the local rank
  LineSummary own{said(8, "shard 0")};
  own.add(said(9, "shard 1"));
  CHECK_FALSE(own.accepts(said(11, "shard 0")));
  CHECK(own.accepts(said(11, "shard 3")));
}

TEST_CASE("a line of any length and of any bytes is compared as it is") {
  const std::string numbers = [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "0.5 ";
    return text;
  }();
  CHECK(said(8, numbers).numbers.size() == LineShape::kNumbersMax);
  CHECK(alike(numbers, numbers));
  CHECK_FALSE(alike(numbers, numbers + "0.5"));
  const std::string bytes{"\0\xff\x1b[0m", 6};
  CHECK(shown({bytes, bytes}) == bytes);
  CHECK_FALSE(alike(bytes, std::string{"\0\xfe\x1b[0m", 6}));
}

}  // namespace
}  // namespace ddprun
