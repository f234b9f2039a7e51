#include "rendezvous/watch/round_dump.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

StackGroup waits_in(const std::string& ranks, std::int64_t sequence = 12,
                    const std::string& group = "0 (default_pg)") {
  return {.ranks = ranks,
          .doing = "waits in " + std::to_string(sequence),
          .operation = "gloo:all_reduce",
          .group = group,
          .sequence = sequence};
}

StackGroup sleeps(const std::string& ranks) {
  return {.ranks = ranks, .doing = "sleeps", .stack = "load\ttrain.py\t12\n"};
}

StackGroup in_store(const std::string& ranks) {
  return {.ranks = ranks, .doing = "waits in the store", .operation = "TCPStore:get"};
}

/// Two nodes with two workers each.
class DumpFixture {
 protected:
  DumpFixture() { table_.begin_round(4, now_); }
  void begins() { dump_.begin(7, {{"a", {"h1", 0, 2}}, {"b", {"h2", 2, 2}}}, now_); }
  void answers(const NodeId& node, const StackGroup& workers, bool last = true) {
    dump_.take(node, Inspected{7, workers, last});
  }
  void is_in(int rank, const std::string& group, std::int64_t enqueued) {
    table_.take({.rank = rank, .watched = true, .groups = {{group, enqueued, enqueued}}}, now_);
  }
  JobDump finished() { return dump_.finish(table_, now_); }

  TimePoint now_{};
  ProgressTable table_;
  RoundDump dump_;
};

TEST_CASE_METHOD(DumpFixture, "a dump is ready when all nodes have answered, or time is over") {
  CHECK(dump_.due() == TimePoint::max());
  begins();
  CHECK(dump_.due() == now_ + kDumpTimeout);
  answers("a", waits_in("0"), false);
  answers("a", sleeps("1"));
  CHECK(dump_.due() == now_ + kDumpTimeout);
  SECTION("the other one answers") { answers("b", waits_in("2-3")); }
  SECTION("the other one is gone") { dump_.forget("b"); }
  CHECK(dump_.due() == now_);
}

TEST_CASE_METHOD(DumpFixture, "a node that has not answered is not waited for in the next dump") {
  begins();
  answers("a", sleeps("0-1"));
  finished();
  dump_.begin(7, {{"a", {"h1", 0, 2}}}, now_);
  answers("a", sleeps("0-1"));
  CHECK(dump_.due() == now_);
}

TEST_CASE_METHOD(DumpFixture,
                 "workers that do the same are one group, and the odd ones come first") {
  begins();
  answers("a", waits_in("0"), false);
  answers("a", sleeps("1"));
  answers("b", waits_in("2-3"));
  const JobDump dump = finished();
  CHECK(dump.stacks == std::vector{sleeps("1"), waits_in("0,2-3")});
  CHECK(dump.waits == std::vector{DumpWait{"gloo:all_reduce", "0 (default_pg)", 12, "0,2-3", "1"}});
  CHECK(dump.unheard.empty());
  CHECK(dump.world_size == 4);
  CHECK(dump.nodes == 2);
  CHECK_FALSE(dump_.under_way());
}

TEST_CASE_METHOD(DumpFixture, "a rank that has entered the collective by now is not missing") {
  is_in(1, "0", 12);
  begins();
  answers("a", waits_in("0"), false);
  answers("a", sleeps("1"));
  answers("b", waits_in("2-3"));
  CHECK(finished().waits.front().missing_ranks.empty());
}

TEST_CASE_METHOD(DumpFixture, "in a group of some ranks only those are missing that belong to it") {
  is_in(1, "3", 11);
  begins();
  answers("a", waits_in("0", 12, "3 (pipeline)"), false);
  answers("a", sleeps("1"));
  answers("b", sleeps("2-3"));
  CHECK(finished().waits.front().missing_ranks == "1");
}

TEST_CASE_METHOD(DumpFixture,
                 "ranks that wait in a later collective of a group wait for the same") {
  begins();
  answers("a", waits_in("0", 13), false);
  answers("a", waits_in("1", 12));
  answers("b", sleeps("2-3"));
  const JobDump dump = finished();
  REQUIRE(dump.waits.size() == 1);
  CHECK(dump.waits[0].sequence == 12);
  CHECK(dump.waits[0].waiting_ranks == "0-1");
  CHECK(dump.waits[0].missing_ranks == "2-3");
}

TEST_CASE_METHOD(DumpFixture, "a rank that waits in the store waits for ranks that wait nowhere") {
  begins();
  answers("a", in_store("0"), false);
  answers("a", waits_in("1"));
  answers("b", sleeps("2-3"));
  const JobDump dump = finished();
  REQUIRE(dump.waits.size() == 2);
  CHECK(dump.waits[0].operation == "TCPStore:get");
  CHECK(dump.waits[0].missing_ranks == "2-3");
}

TEST_CASE_METHOD(DumpFixture, "of ranks without a report the dump says why") {
  dump_.begin(7, {{"a", {"h1", 0, 2}}, {"b", {"h2", 2, 1}}, {"c", {"h3", 3, 2, true}}}, now_);
  answers("a", sleeps("1"));
  const JobDump dump = finished();
  const std::vector<DumpUnheard> expected{{"h1", "0", "there was no time to look at them"},
                                          {"h2", "2", "the node has not answered in time"}};
  CHECK(dump.unheard == expected);
  REQUIRE(dump.stacks.size() == 2);
  CHECK(dump.stacks[1].ranks == "3-4");
  CHECK(dump.stacks[1].doing == "has ended, with code 0");
}

TEST_CASE_METHOD(DumpFixture, "what is no answer to the dump is passed over") {
  dump_.take("a", Inspected{7, sleeps("0"), true});
  begins();
  dump_.take("a", Inspected{6, sleeps("0"), true});
  answers("c", sleeps("0"));
  CHECK(dump_.due() == now_ + kDumpTimeout);
  CHECK(finished().stacks.empty());
}

TEST_CASE_METHOD(DumpFixture, "a newer question over a connection replaces the older one") {
  dump_.add(5, 1);
  dump_.add(6, 1);
  dump_.add(5, 2);
  CHECK(dump_.take_askers() == RoundDump::Askers{{5, 2}, {6, 1}});
  CHECK(dump_.take_askers().empty());
}

TEST_CASE_METHOD(DumpFixture, "a list of ranks that is too long for a message is several") {
  table_.begin_round(1000, now_);
  dump_.begin(7, {{"a", {"h1", 0, 1000}}}, now_);
  for (int rank = 0; rank < 1000; rank += 2) answers("a", sleeps(std::to_string(rank)), false);
  const JobDump dump = parse_job_dump(to_json(finished())).value();
  RankList told;
  for (const StackGroup& group : dump.stacks) told = united(told, ranks_in(group.ranks));
  CHECK(told.size() == 500);
}

}  // namespace
}  // namespace ddprun
