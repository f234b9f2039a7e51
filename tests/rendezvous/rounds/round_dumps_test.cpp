// What CoordinatorMachine does when somebody asks what all workers do.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes with two workers each, whose round runs.
class DumpsFixture : public RoundFixture {
 protected:
  void runs(std::chrono::milliseconds hang_timeout = kHangTimeoutOff) {
    job({.nodes_min = 2, .nodes_max = 2, .hang_timeout = hang_timeout});
    enters("a");
    enters("b");
  }
  void enters(const NodeId& node) { says(node, join_of(node, 2)); }
  void answers(const NodeId& node, int number, const std::string& ranks) {
    says(node, Inspected{number, {.ranks = ranks, .doing = "sleeps"}, true});
  }
  std::optional<JobDump> dump_of(const NodeId& node, int question) {
    const auto part = order<DumpPart>(node);
    if (!part) return std::nullopt;
    CHECK(part->question == question);
    CHECK(part->last);
    return parse_job_dump(part->text).value();
  }
};

TEST_CASE_METHOD(DumpsFixture,
                 "who asks hears what the workers of all nodes do, and nobody stops") {
  runs();
  says("a", AskDump{3});
  const auto question = ordered<Inspect>("a");
  CHECK_FALSE(question.stopping);
  CHECK(question.patience_ms == kDumpPatience.count());
  CHECK(ordered<Inspect>("b") == question);
  answers("a", question.inspection, "0-1");
  CHECK_FALSE(dump_of("a", 3));
  answers("b", question.inspection, "2-3");
  const auto dump = dump_of("a", 3);
  REQUIRE(dump);
  CHECK(dump->state == "running");
  CHECK(dump->round == 1);
  REQUIRE(dump->stacks.size() == 1);
  CHECK(dump->stacks[0].ranks == "0-3");
  CHECK_FALSE(order<DumpPart>("b"));
  CHECK_FALSE(order<StopRound>("a"));
}

TEST_CASE_METHOD(DumpsFixture, "requests while the workers are looked at get the same answer") {
  runs();
  says("a", AskDump{3});
  const int number = ordered<Inspect>("a").inspection;
  says("b", AskDump{8});
  CHECK_FALSE(order<Inspect>("a"));
  answers("a", number, "0-1");
  answers("b", number, "2-3");
  CHECK(dump_of("a", 3));
  CHECK(dump_of("b", 8));
  says("b", AskDump{9});
  CHECK(ordered<Inspect>("a").inspection > number);
}

TEST_CASE_METHOD(DumpsFixture, "a node that does not answer keeps nobody waiting for long") {
  runs();
  says("a", AskDump{3});
  answers("a", ordered<Inspect>("a").inspection, "0-1");
  passes(kDumpTimeout - 1ms);
  CHECK_FALSE(dump_of("a", 3));
  passes(1ms);
  const auto dump = dump_of("a", 3);
  REQUIRE(dump);
  CHECK(dump->unheard == std::vector{DumpUnheard{"b", "2-3", "the node has not answered in time"}});
}

TEST_CASE_METHOD(DumpsFixture, "while no round runs the answer says so at once") {
  job({.nodes_min = 2, .nodes_max = 2});
  enters("a");
  says("a", AskDump{1});
  const auto dump = dump_of("a", 1);
  REQUIRE(dump);
  CHECK(dump->state == "gathering");
  CHECK(dump->why == "the job waits for its nodes: 1 of 2 are there");
  CHECK(dump->world_size == 0);
}

TEST_CASE_METHOD(DumpsFixture, "a round that ends meanwhile is dumped with the answers so far") {
  runs();
  says("a", AskDump{3});
  answers("a", ordered<Inspect>("a").inspection, "0-1");
  SECTION("because a worker fails") { fails("b", 1, 2); }
  SECTION("because a node is lost") { is_lost("b"); }
  const auto dump = dump_of("a", 3);
  REQUIRE(dump);
  CHECK(dump->state == "stopping");
  CHECK(dump->stacks.size() == 1);
}

TEST_CASE_METHOD(DumpsFixture, "who has gone hears no answer") {
  runs();
  says("b", AskDump{3});
  is_lost("b");
  CHECK_FALSE(order<DumpPart>("b"));
}

TEST_CASE_METHOD(DumpsFixture, "the workers of a node that has finished have ended") {
  runs();
  says("b", WorkersFinished{1});
  says("a", AskDump{3});
  CHECK_FALSE(order<Inspect>("b"));
  answers("a", ordered<Inspect>("a").inspection, "0-1");
  const auto dump = dump_of("a", 3);
  REQUIRE(dump);
  REQUIRE(dump->stacks.size() == 2);
  CHECK(dump->stacks[0].doing == "has ended, with code 0");
  CHECK(dump->stacks[0].ranks == "2-3");
}

TEST_CASE_METHOD(DumpsFixture, "a hang that is found meanwhile is looked at beside the dump") {
  runs(3s);
  for (const int rank : {0, 2, 3})
    says(rank == 0 ? "a" : "b", Progress{1, {{.rank = rank, .groups = {{"0", 12, 11}}}}});
  says("a", Progress{1, {{.rank = 1, .groups = {{"0", 11, 11}}}}});
  passes_beating(2s, {"a", "b"});
  says("a", AskDump{3});
  const int dumped = ordered<Inspect>("a").inspection;
  passes_beating(1500ms, {"a", "b"});
  const int hung = ordered<Inspect>("a").inspection;
  CHECK(hung != dumped);
  answers("a", hung, "0-1");
  answers("b", hung, "2-3");
  CHECK(order<HangFound>("a"));
  CHECK_FALSE(dump_of("a", 3));
  answers("a", dumped, "0-1");
  answers("b", dumped, "2-3");
  const auto dump = dump_of("a", 3);
  REQUIRE(dump);
  REQUIRE(dump->hang);
  CHECK(dump->hang->missing_ranks == "1");
  CHECK(dump->hang->stacks.empty());
}

TEST_CASE_METHOD(DumpsFixture, "a great answer goes out in pieces") {
  runs();
  says("a", AskDump{3});
  const int number = ordered<Inspect>("a").inspection;
  std::string text;
  int pieces = 0;
  machine_->step(FromPeer{peers_["b"], Inspected{number, {}, true}}, now_);
  for (int i = 0; i < 60; ++i) {
    const StackGroup group{.ranks = std::to_string(i % 2),
                           .doing = "is at " + std::to_string(i),
                           .stack = std::string(2900, 's')};
    for (const CoordinatorAction& action :
         machine_->step(FromPeer{peers_["a"], Inspected{number, group, i == 59}}, now_))
      if (const auto* send = std::get_if<SendTo>(&action))
        if (const auto* part = std::get_if<DumpPart>(&send->message)) {
          text += part->text;
          ++pieces;
          CHECK(part->last == (pieces == 4));
          CHECK(part->text.size() <= kStatusPartBytesMax);
        }
  }
  CHECK(pieces == 4);
  CHECK(parse_job_dump(text).value().stacks.size() == 60);
}

}  // namespace
}  // namespace ddprun
