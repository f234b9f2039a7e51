// JobCheckpoints: copies of parts in other nodes' memory, and rounds that begin without the disk.
#include "tests/rendezvous/rounds/checkpoints_fixture.hpp"

namespace ddprun {
namespace {

class MemoryFixture : public CheckpointsFixture {
 protected:
  MemoryFixture() {
    port_ = 7000;
    room_ = 1000;
  }
  /// A new coordinator, of nodes that hold these parts and copies.
  void hold_before_a_round(std::vector<HeldCheckpoints> all) {
    job(terms_of(static_cast<int>(all.size()), static_cast<int>(all.size())));
    for (std::size_t at = 0; at < all.size(); ++at) {
      nodes_.push_back(std::string(1, static_cast<char>('a' + at)));
      joins(nodes_.back());
    }
    for (std::size_t at = 0; at < all.size(); ++at) {
      all[at].room = room_;
      all[at].port = port_;
      all[at].ticket = "ticket of " + nodes_[at];
      says(nodes_[at], all[at]);
    }
  }
  /// "PART at ENDPOINT" for each source of the node's round.
  Texts sources(const NodeId& node) {
    const StartRound round = start(node);
    Texts texts;
    for (const PartSource& source : round.checkpoint.sources)
      texts.push_back(std::to_string(source.part.part) + " at " + source.endpoint);
    return texts;
  }
  /// The parts that nodes hold after a checkpoint that counts, and again when they have stopped.
  void stop_holding(int number) {
    fails("b", 1, 1);
    passes(kCausePatience);
    for (const NodeId& node : nodes_) {
      holds(node, {{number, part_of(node), static_cast<int>(nodes_.size())}});
      says(node, WorkersStopped{1});
    }
  }
};

TEST_CASE_METHOD(MemoryFixture, "each part is copied by the node half a round away") {
  SECTION("of two") {
    runs(2);
    all_keep(1);
    CHECK(told("a")[1] == "counts 1 copy 1 with the ticket of b");
    CHECK(told("b")[1] == "counts 1 copy 0 with the ticket of a");
  }
  SECTION("of four") {
    runs(4);
    all_keep(1);
    CHECK(told("a")[1] == "counts 1 copy 2 with the ticket of c");
    CHECK(told("d")[1] == "counts 1 copy 1 with the ticket of b");
  }
}

TEST_CASE_METHOD(MemoryFixture, "a round begins with parts in memory, and the disk is not asked") {
  runs(2);
  all_keep(1);
  hear_all();
  stop_holding(1);
  CHECK(told("a").empty());
  const StartRound round = start("a");
  CHECK(round.checkpoint.number == 1);
  REQUIRE(round.checkpoint.sources.size() == 2);
  CHECK(round.checkpoint.sources[0].part == CheckpointPart{1, 0, 2});
  CHECK(round.checkpoint.sources[0].endpoint == "host-a:7000");
  CHECK(round.checkpoint.sources[1].ticket == "ticket of b");
  all_stage(1);
  CHECK(told("a") == Texts{"move 1 of 2"});  // it goes to disk beside the round
}

TEST_CASE_METHOD(MemoryFixture, "a part whose node is lost is staged from its copy") {
  runs(3);
  all_keep(1);
  staged("a", 1);
  staged("b", 1);
  copied("a", 1, 2);
  hear_all();
  is_lost("c");
  nodes_.pop_back();
  for (const NodeId& node : nodes_) says(node, WorkersStopped{1});
  CHECK(start("a").checkpoint.number == 1);
  passes_beating(kWriteAgainAfter, nodes_);
  CHECK(told("a") == Texts{"stage 1", "stage 1"});
  staged("a", 1, 0, true);
  staged("b", 1, 1, true);
  CHECK(told("a").empty());
  staged("a", 1, 2, true);
  CHECK(told("a") == Texts{"move 1 of 3"});
}

TEST_CASE_METHOD(MemoryFixture, "the disk comes first where a node has no room for its next save") {
  runs(2);
  all_keep(1);
  hear_all();
  room_ = -1;
  stop_holding(1);
  all_stage(1);
  CHECK(told("a") == Texts{"move 1 of 2"});
  wrote("a", 1);
  CHECK(told("a") == Texts{"written 1", "look"});
  wrote("a", 1);
  const StartRound round = start("a");
  CHECK(round.checkpoint.number == 1);
  CHECK(round.checkpoint.sources.empty());
}

TEST_CASE_METHOD(MemoryFixture, "a copy stands for the part of a node that is gone") {
  hold_before_a_round({{.parts = {{6, 0, 2}}, .copies = {{6, 1, 2}}}, {}});
  CHECK(sources("b") == Texts{"0 at host-a:7000", "1 at host-a:7000"});
}

TEST_CASE_METHOD(MemoryFixture, "the nodes that have saved a part are asked before copies") {
  hold_before_a_round({{.copies = {{6, 1, 2}}}, {.parts = {{6, 1, 2}}}, {.parts = {{6, 0, 2}}}});
  CHECK(sources("a") == Texts{"0 at host-c:7000", "1 at host-b:7000", "1 at host-a:7000"});
}

TEST_CASE_METHOD(MemoryFixture, "parts of one number that were kept at other times are not one") {
  // A node was away while others went on from what was on disk before.
  hold_before_a_round({{.parts = {{6, 0, 2, 500}}}, {.parts = {{6, 1, 2, 400}}}});
  CHECK(told("a") == Texts{"look"});
}

TEST_CASE_METHOD(MemoryFixture, "all parts have the time at which the last one was kept") {
  runs(2);
  saved("a");
  for (const NodeId node : {"a", "b"})
    says(node, CheckpointSaid{.what = Said::kKept,
                              .number = 1,
                              .done = true,
                              .taken_unix_ms = node == "a" ? 700 : 650,
                              .changed = true});
  for (const NodeId node : {"a", "b"}) {
    const auto all = orders<CheckpointOrder>(node);
    CHECK(all[1].taken_unix_ms == 700);
    CHECK(all[1].copies.front().part.taken_unix_ms == 700);
  }
}

TEST_CASE_METHOD(MemoryFixture, "where a node has no room for it, it goes by the disk") {
  room_ = 99;
  SECTION("because of what others have saved") {
    hold_before_a_round({{.parts = {{6, 0, 2, 0, 100}}}, {.parts = {{6, 1, 2, 0, 5}}}});
  }
  SECTION("because a new node lacks all") {
    hold_before_a_round({{.parts = {{6, 0, 2, 0, 10}}, .copies = {{6, 1, 2, 0, 10, 80}}}, {}});
  }
  CHECK(told("a").front() == "stage 6");
}

TEST_CASE_METHOD(MemoryFixture, "what a node has itself needs no room") {
  room_ = 99;
  hold_before_a_round({{.parts = {{6, 0, 2, 0, 90, 500}}}, {.parts = {{6, 1, 2, 0, 90, 500}}}});
  CHECK(start("a").checkpoint.number == 6);
}

TEST_CASE_METHOD(MemoryFixture, "a whole one in memory is given by those that have it") {
  hold_before_a_round({{.parts = {{6, 0, 1}}}, {}, {.parts = {{6, 0, 1}}}});
  CHECK(sources("b") == Texts{"0 at host-a:7000", "0 at host-c:7000"});
}

TEST_CASE_METHOD(MemoryFixture, "a coordinator that is new asks the disk where a part is missing") {
  hold_before_a_round({{.parts = {{6, 0, 2}, {7, 0, 2}}}, {.parts = {{6, 1, 2}}}});
  CHECK(told("b") == Texts{"stage 6"});  // 7 may be on disk
}

TEST_CASE_METHOD(MemoryFixture, "one that is not new knows that it was not written") {
  runs(2);
  all_write(1);
  all_keep(2);
  copied("a", 1, 1);
  hear_all();
  is_lost("b");
  says("a", WorkersStopped{1});
  CHECK(start("a").checkpoint.number == 1);
}

TEST_CASE_METHOD(MemoryFixture, "what is being moved on disk is waited for if it is newer") {
  runs(2);
  all_keep(1);
  all_keep(2);
  hear_all();
  all_stage(1);
  REQUIRE(told("a") == Texts{"move 1 of 2"});
  SECTION("else not") {
    stop_holding(2);
    CHECK(start("a").checkpoint.number == 2);
  }
  SECTION("where its parts are gone") {
    is_lost("b");
    says("a", WorkersStopped{1});
    CHECK_FALSE(order<StartRound>("a"));
    wrote("a", 1);
    CHECK(told("a") == Texts{"written 1", "look"});
  }
}

TEST_CASE_METHOD(MemoryFixture, "a job ends with its newest one on disk, also if memory has it") {
  runs(2);
  all_keep(1);
  hear_all();
  all_finish();
  CHECK(told("a") == Texts{"keep 2 at end"});
  kept("a", 2, false);
  kept("b", 2, false);
  CHECK_FALSE(order<EndJob>("a"));
  all_stage(1);
  wrote("a", 1);
  wrote("a", 1);
  CHECK(order<EndJob>("a"));
}

TEST_CASE_METHOD(MemoryFixture, "the coordinator's own node is found where it is reached") {
  addresses_ = {{"a", "::ffff:127.0.0.1"}};
  job(terms_of(2, 2));
  joins("a");
  joins("b");
  holds("a", {{6, 0, 2}});
  holds("b", {{6, 1, 2}});
  CHECK(start("b").checkpoint.sources.front().endpoint == ":7000");
}

}  // namespace
}  // namespace ddprun
