// JobCheckpoints: which checkpoints of several nodes count, and when they come to disk.
#include "rendezvous/rounds/job_checkpoints.hpp"

#include "tests/rendezvous/rounds/checkpoints_fixture.hpp"

namespace ddprun {
namespace {

// --- while a round runs ---

TEST_CASE_METHOD(CheckpointsFixture, "a save is kept by all nodes, counts, and comes to disk") {
  runs(2);
  saved("b");
  CHECK(told("a") == Texts{"keep 1"});
  CHECK(told("b") == Texts{"keep 1"});
  kept("a", 1);
  CHECK(told("a").empty());
  kept("b", 1);
  CHECK(told("a") == Texts{"counts 1", "stage 1"});
  CHECK(told("b") == Texts{"counts 1", "stage 1"});
  staged("b", 1);
  CHECK(told("a").empty());
  staged("a", 1);
  CHECK(told("a") == Texts{"move 1 of 2"});
  CHECK(told("b").empty());
  wrote("a", 1);
  CHECK(told("a") == Texts{"written 1"});
  CHECK(told("b") == Texts{"written 1"});
}

TEST_CASE_METHOD(CheckpointsFixture, "each node hears what the workers of others have removed") {
  runs(2);
  saved("a");
  kept("a", 1, true, {"checkpoint-1"});
  kept("b", 1, true, {"checkpoint-1", "old.pt"});
  CHECK(told("a") == Texts{"keep 1", "counts 1 -checkpoint-1 -old.pt", "stage 1"});
}

TEST_CASE_METHOD(CheckpointsFixture, "nothing counts while a node saves, until it has saved") {
  runs(2);
  saved("a");
  kept("a", 1);
  refuses("b", 1);
  CHECK(told("a") == Texts{"keep 1"});
  passes_beating(5min, nodes_);
  CHECK(told("a").empty());
  saved("b");
  CHECK(told("a") == Texts{"keep 2"});
  kept("b", 2);
  kept("a", 2);
  CHECK(told("a") == Texts{"counts 2", "stage 2"});
}

TEST_CASE_METHOD(CheckpointsFixture, "what has ended while nodes keep is kept next") {
  runs(2);
  saved("a");
  kept("a", 1);
  saved("a");
  CHECK(told("a") == Texts{"keep 1"});
  kept("b", 1);
  CHECK(told("a") == Texts{"counts 1", "keep 2", "stage 1"});
}

TEST_CASE_METHOD(CheckpointsFixture, "what nobody has changed does not count") {
  runs(2);
  saved("a");
  kept("a", 1, false);
  kept("b", 1, false);
  CHECK(told("a") == Texts{"keep 1"});
  passes_beating(2 * kLateSave, nodes_);
  CHECK(told("a").empty());
}

TEST_CASE_METHOD(CheckpointsFixture, "a node that has saved before is waited for") {
  runs(2);
  all_write(1);
  saved("a");
  kept("a", 2);
  kept("b", 2, false);
  CHECK(told("a") == Texts{"keep 2"});
  SECTION("and with its save the checkpoint counts") {
    saved("b");
    kept("b", 3);
    kept("a", 3);
    CHECK(told("b") == Texts{"keep 2", "keep 3", "counts 3", "stage 3"});
  }
  SECTION("but no longer than that") {
    passes_beating(kLateSave - 1s, nodes_);
    CHECK(told("a").empty());
    passes_beating(1s, nodes_);
    CHECK(told("a") == Texts{"keep 3"});
    kept("a", 3);
    kept("b", 3, false);
    CHECK(told("a") == Texts{"counts 3", "stage 3"});
  }
  SECTION("and not any more when it did not save for the one that counts now") {
    passes_beating(kLateSave, nodes_);
    kept("a", 3);
    kept("b", 3, false);
    hear_all();
    saved("a");
    kept("a", 4);
    kept("b", 4, false);
    CHECK(told("b") == Texts{"keep 4", "counts 4"});
  }
}

TEST_CASE_METHOD(CheckpointsFixture,
                 "a checkpoint that counts later is written after the one before") {
  runs(2);
  all_keep(1);
  all_keep(2);
  hear_all();
  all_stage(1);
  CHECK(told("a") == Texts{"move 1 of 2"});
  wrote("a", 1);
  CHECK(told("a") == Texts{"written 1", "stage 2"});
}

TEST_CASE_METHOD(CheckpointsFixture, "a disk that fails is tried again, and holds up no save") {
  runs(2);
  all_keep(1);
  hear_all();
  SECTION("with a part") {
    staged("a", 1);
    staged("b", 1, false);
  }
  SECTION("with the whole") {
    all_stage(1);
    wrote("a", 0, false);
    CHECK(told("a") == Texts{"move 1 of 2"});
  }
  CHECK(told("b").empty());
  all_keep(2);
  CHECK(told("b") == Texts{"keep 2", "counts 2"});
  passes_beating(kWriteAgainAfter - 1s, nodes_);
  CHECK(told("b").empty());
  passes_beating(1s, nodes_);
  CHECK(told("b") == Texts{"stage 2"});
  all_stage(2);
  wrote("a", 2);
  CHECK(told("b") == Texts{"written 2"});
}

TEST_CASE_METHOD(CheckpointsFixture, "late answers to orders of before are passed over") {
  runs(2);
  saved("a");
  refuses("a", 1);
  kept("b", 1);
  saved("a");
  kept("b", 1);
  kept("b", 2);
  CHECK(told("a") == Texts{"keep 1", "keep 2"});
  kept("a", 2);
  staged("a", 1);
  staged("a", 2);
  wrote("b", 2);
  wrote("a", 2);
  CHECK(told("b") == Texts{"keep 1", "keep 2", "counts 2", "stage 2"});
}

// --- nodes are lost ---

class LostNodeFixture : public CheckpointsFixture {
 protected:
  /// The nodes that are left have stopped, and tell what they have.
  void loses(const NodeId& node, std::vector<CheckpointPart> parts_of_a, int written = 0) {
    is_lost(node);
    std::erase(nodes_, node);
    holds("a", std::move(parts_of_a), written);
    for (const NodeId& left : nodes_) {
      if (left != "a") holds(left, {}, written);
      says(left, WorkersStopped{1});
    }
  }
};

TEST_CASE_METHOD(LostNodeFixture, "what was being kept when a node was lost is not waited for") {
  runs(2);
  saved("a");
  kept("a", 1);
  hear_all();
  loses("b", {});
  CHECK(told("a") == Texts{"look"});
  wrote("a", 0);
  CHECK(start("a").checkpoint.number == 0);
}

TEST_CASE_METHOD(LostNodeFixture, "a part that is lost before it was staged is gone") {
  runs(2);
  all_keep(1);
  staged("a", 1);
  hear_all();
  loses("b", {{1, 0, 2}});
  CHECK(told("a") == Texts{"look"});
  wrote("a", 0);
  CHECK(start("a").checkpoint.number == 0);
}

TEST_CASE_METHOD(LostNodeFixture, "a node may be lost when its part is staged") {
  runs(3);
  all_keep(1);
  staged("c", 1);
  hear_all();
  is_lost("c");
  std::erase(nodes_, "c");
  staged("a", 1);
  CHECK(told("a").empty());
  for (const NodeId& node : nodes_) {
    holds(node, {{1, node == "a" ? 0 : 1, 3, 1}});
    says(node, WorkersStopped{1});
  }
  staged("b", 1);
  CHECK(told("a") == Texts{"move 1 of 3"});
  wrote("a", 1);
  CHECK(told("a") == Texts{"written 1", "look"});
}

TEST_CASE_METHOD(LostNodeFixture, "another node looks what is there when the mover was lost") {
  runs(2);
  all_keep(1);
  all_stage(1);
  CHECK(told("a").back() == "move 1 of 2");
  is_lost("a");
  holds("b", {{1, 1, 2, 1}});
  says("b", WorkersStopped{1});
  told("b");
  says("b", Beat{});
  wrote("b", 1);
  CHECK(told("b") == Texts{"written 1"});
  CHECK(start("b").checkpoint.number == 1);
}

TEST_CASE_METHOD(LostNodeFixture, "another node looks when the one that looked was lost") {
  runs(2);
  stops_after_failure_of("b");
  CHECK(told("a") == Texts{"look"});
  is_lost("a");
  CHECK(told("b") == Texts{"look"});
  wrote("b", 0);
  CHECK(start("b").checkpoint.number == 0);
}

TEST_CASE_METHOD(CheckpointsFixture,
                 "each node hears four orders of a checkpoint, and one moves it") {
  runs(20);
  all_keep(1);
  all_stage(1);
  wrote("a", 1);
  std::size_t orders = 0;
  for (const NodeId& node : nodes_) orders += told(node).size();
  CHECK(orders == 4 * nodes_.size() + 1);
}

}  // namespace
}  // namespace ddprun
