// JobCheckpoints between rounds, and at the end of the job: what is brought to disk before.
#include "tests/rendezvous/rounds/checkpoints_fixture.hpp"

namespace ddprun {
namespace {

// --- before a round ---

TEST_CASE_METHOD(CheckpointsFixture, "a round begins when all have told what they hold") {
  job(terms_of(2, 2));
  nodes_ = {"a", "b"};
  joins("a");
  joins("b");
  CHECK(told("a").empty());
  holds("b", {}, 4);
  CHECK(told("a").empty());
  holds("a", {}, 4);
  CHECK(told("a") == Texts{"look"});
  CHECK_FALSE(order<StartRound>("a"));
  wrote("a", 4);
  CHECK(start("a").checkpoint.number == 4);
  CHECK(start("b").checkpoint.number == 4);
  saved("a");
  CHECK(told("b") == Texts{"written 4", "keep 5"});
}

TEST_CASE_METHOD(CheckpointsFixture, "a round begins with the newest that is whole in memory") {
  job(terms_of(2, 2));
  joins("a");
  joins("b");
  holds("a", {{6, 0, 2}, {7, 0, 2}}, 5);
  holds("b", {{6, 1, 2}}, 5);
  CHECK(told("b") == Texts{"stage 6"});
  staged("b", 6);
  staged("a", 6);
  CHECK(told("a") == Texts{"stage 6", "move 6 of 2"});
  wrote("a", 6);
  CHECK(told("a") == Texts{"written 6", "look"});
  wrote("a", 6);
  CHECK(start("b").checkpoint.number == 6);
}

TEST_CASE_METHOD(CheckpointsFixture,
                 "a round begins with what is on disk where a part is missing") {
  job(terms_of(1, 2));
  joins("a");
  joins("b");
  SECTION("because nobody has it") {
    holds("a", {{6, 0, 3}}, 5);
    holds("b", {{6, 2, 3}}, 5);
  }
  SECTION("because it is of another number") {
    holds("a", {{6, 0, 2}}, 5);
    holds("b", {{7, 1, 2}}, 5);
  }
  SECTION("because it was kept at another time, when the number was given before") {
    holds("a", {{6, 0, 2, 5}}, 5);
    holds("b", {{6, 1, 2, 3}}, 5);
  }
  SECTION("because both have the same one") {
    holds("a", {{6, 1, 2}}, 5);
    holds("b", {{6, 1, 2}}, 5);
  }
  SECTION("because both are older than what is on disk") {
    holds("a", {{5, 0, 2}}, 5);
    holds("b", {{5, 1, 2}}, 4);
  }
  CHECK(told("a") == Texts{"look"});
  wrote("a", 5);
  CHECK(start("a").checkpoint.number == 5);
}

TEST_CASE_METHOD(CheckpointsFixture, "where a disk fails, nodes hear that nobody has seen it") {
  runs(2);
  all_keep(1);
  stops_after_failure_of("b");
  SECTION("with a part") {
    staged("a", 1);
    staged("b", 1, false);
    hear_all();
    staged("b", 1, false);
  }
  SECTION("with the whole") {
    all_stage(1);
    wrote("a", 0, false);
    hear_all();
    all_stage(1);
    wrote("a", 0, false);
  }
  CHECK(told("a").back() == "look");
  CHECK_FALSE(order<StartRound>("a"));
  wrote("a", 0, false);
  CHECK(start("a").checkpoint.number == kUnknownCheckpoint);
}

TEST_CASE_METHOD(CheckpointsFixture, "what was being kept is cut off when the round stops") {
  runs(2);
  saved("a");
  kept("a", 1);
  stops_after_failure_of("b");
  hear_all();
  kept("b", 1);
  holds("a", {});
  CHECK(told("a").empty());
  wrote("a", 0);
  CHECK(start("a").checkpoint.number == 0);
}

TEST_CASE_METHOD(CheckpointsFixture, "nothing is kept any more once a round stops") {
  runs(2);
  saved("a");
  refuses("a", 1);
  kept("b", 1);
  hear_all();
  fails("b", 1, 1);
  passes(kCausePatience);
  REQUIRE(order<StopRound>("a"));
  SECTION("also when the word of a save comes late") { saved("a"); }
  SECTION("also when a node is late with another answer") { refuses("b", 1); }
  CHECK(told("a").empty());
  CHECK(told("b").empty());
}

TEST_CASE_METHOD(CheckpointsFixture,
                 "a node that saves late is not waited for once a round stops") {
  runs(2);
  all_write(1);
  saved("a");
  kept("a", 2);
  kept("b", 2, false);
  hear_all();
  fails("b", 1, 1);
  passes(kCausePatience);
  passes_beating(kLateSave, nodes_);
  staged("a", 1);
  CHECK(told("a").empty());
}

// --- at the end of the job ---

TEST_CASE_METHOD(CheckpointsFixture, "the job ends when the last save is on disk") {
  runs(2);
  all_finish();
  CHECK(told("a") == Texts{"keep 1 at end"});
  CHECK(told("b") == Texts{"keep 1 at end"});
  kept("a", 1, false);
  kept("b", 1);
  CHECK(told("b") == Texts{"counts 1", "stage 1"});
  all_stage(1);
  CHECK_FALSE(order<EndJob>("b"));
  wrote("a", 1);
  CHECK(told("a").back() == "look");
  CHECK_FALSE(order<EndJob>("b"));
  wrote("a", 1);
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFinished);
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(CheckpointsFixture, "the job ends although the last save cannot be kept") {
  runs(2);
  all_keep(1);
  hear_all();
  all_finish();
  all_stage(1);
  refuses("a", 2);
  kept("b", 2);
  wrote("a", 1);
  CHECK(told("a") == Texts{"keep 2 at end", "move 1 of 2", "written 1", "look"});
  wrote("a", 1);
  CHECK(order<EndJob>("a"));
}

TEST_CASE_METHOD(CheckpointsFixture, "the job ends although the disk fails") {
  runs(2);
  all_finish();
  kept("a", 1);
  kept("b", 1);
  hear_all();
  SECTION("with a part") { staged("a", 1, false); }
  SECTION("with the whole") {
    all_stage(1);
    wrote("a", 0, false);
  }
  for (int tries = 0; tries < 3 && !machine_->ended(); ++tries) {
    for (const std::string& order : told("a")) {
      if (order == "stage 1") all_stage(1);
      if (order == "move 1 of 2" || order == "look") wrote("a", 0, false);
    }
  }
  CHECK(order<EndJob>("a"));
}

TEST_CASE_METHOD(CheckpointsFixture, "the job ends although a node is lost meanwhile") {
  runs(2);
  all_finish();
  SECTION("while the last save is kept") {}
  SECTION("while it is staged") {
    kept("a", 1);
    kept("b", 1);
  }
  SECTION("while it is moved") {
    kept("a", 1);
    kept("b", 1);
    all_stage(1);
    wrote("a", 0, false);
  }
  hear_all();
  is_lost("b");
  for (int tries = 0; tries < 3 && !machine_->ended(); ++tries) {
    for (const std::string& order : told("a"))
      if (order == "look") wrote("a", 0);
  }
  CHECK(order<EndJob>("a"));
}

TEST_CASE_METHOD(CheckpointsFixture, "a job that fails writes what counts, and ends") {
  JobTerms terms = terms_of(2, 2);
  terms.restarts_max = 0;
  job(terms);
  nodes_ = {"a", "b"};
  for (const NodeId& node : nodes_) joins(node);
  for (const NodeId& node : nodes_) holds(node, {});
  wrote("a", 0);
  all_keep(1);
  stops_after_failure_of("b");
  CHECK_FALSE(order<EndJob>("a"));
  hear_all();
  all_stage(1);
  CHECK_FALSE(order<EndJob>("a"));
  wrote("a", 1);
  wrote("a", 1);
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kFailed);
}

// --- what it is not for ---

TEST_CASE_METHOD(CheckpointsFixture, "a job on one node is ordered nothing") {
  job(terms_of(1, 1));
  joins("a");
  holds("a", {{6, 0, 1}}, 5);
  CHECK(start("a").checkpoint.number == 0);
  saved("a");
  says("a", WorkersFinished{1});
  CHECK(order<EndJob>("a"));
  CHECK(told("a").empty());
}

TEST_CASE_METHOD(CheckpointsFixture, "a job whose program keeps its own is ordered nothing") {
  JobTerms terms = terms_of(1, 2);
  terms.checkpoints = false;
  job(terms);
  joins("a");
  joins("b");
  saved("a");
  CHECK(order<StartRound>("a"));
  CHECK(told("a").empty());
}

TEST_CASE_METHOD(CheckpointsFixture, "a slow disk does not end the wait for nodes that are there") {
  JobTerms terms = terms_of(2, 2);
  terms.join_timeout = 20s;
  job(terms);
  nodes_ = {"a", "b"};
  for (const NodeId& node : nodes_) joins(node);
  holds("a", {{1, 0, 2}});
  holds("b", {{1, 1, 2}});
  CHECK(told("a") == Texts{"stage 1"});
  passes_beating(10min, nodes_);
  CHECK_FALSE(order<EndJob>("a"));
  all_stage(1);
  wrote("a", 1);
  wrote("a", 1);
  CHECK(start("b").checkpoint.number == 1);
}

}  // namespace
}  // namespace ddprun
