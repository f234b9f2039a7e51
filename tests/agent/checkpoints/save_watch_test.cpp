#include "agent/checkpoints/save_watch.hpp"

#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Wants = SaveWatch::Wants;

class SaveWatchFixture {
 protected:
  void pass(std::chrono::milliseconds time) { now_ += time; }
  Wants touch() { return watch_.step(FolderTouched{}, kept_, now_); }
  Wants due() { return watch_.look_due(now_); }
  Wants looked(const FolderState& state, std::vector<std::string> open = {}) {
    seen_ = folder_with(state);
    return watch_.step(FolderLooked{seen_, std::move(open)}, kept_, now_);
  }
  Wants kept(bool is) {
    if (is) kept_ = snapshot_of(++number_, seen_);
    return watch_.step(SnapshotKept{is}, kept_, now_);
  }
  /// A save of which nothing is to be kept, or cannot be yet.
  Wants look_after_touch(const FolderState& state, std::vector<std::string> open = {}) {
    touch();
    return look_again(state, std::move(open));
  }
  Wants look_again(const FolderState& state, std::vector<std::string> open = {}) {
    pass(kStillFor);
    REQUIRE(due() == Wants::kLook);
    return looked(state, std::move(open));
  }

  const FolderState state_{a_file("model.pt")};
  SaveWatch watch_;
  FolderState seen_;
  Snapshot kept_;
  TimePoint now_{1h};
  int number_ = 0;
};

TEST_CASE_METHOD(SaveWatchFixture, "nothing is to be done in a folder in which nothing happens") {
  CHECK_FALSE(watch_.next_look());
  pass(1h);
  CHECK(due() == Wants::kNothing);
  CHECK(watch_.told_open(now_).empty());
}

TEST_CASE_METHOD(SaveWatchFixture, "what a save has left is kept when the folder has been still") {
  CHECK(touch() == Wants::kNothing);
  CHECK(watch_.next_look() == now_ + kStillFor);
  pass(kStillFor - 1ms);
  CHECK(due() == Wants::kNothing);
  pass(1ms);
  CHECK(due() == Wants::kLook);
  CHECK_FALSE(watch_.next_look());
  CHECK(looked(state_) == Wants::kKeep);
  CHECK_FALSE(watch_.next_look());
  CHECK(kept(true) == Wants::kNothing);
  CHECK_FALSE(watch_.next_look());
}

TEST_CASE_METHOD(SaveWatchFixture, "stillness begins again whenever something happens") {
  for (int i = 0; i < 100; ++i) {
    touch();
    CHECK(watch_.next_look() == now_ + kStillFor);
    pass(kStillFor - 1ms);
    CHECK(due() == Wants::kNothing);
  }
  pass(1ms);
  CHECK(due() == Wants::kLook);
}

TEST_CASE_METHOD(SaveWatchFixture, "no look begins during another one, or during a snapshot") {
  touch();
  pass(kStillFor);
  REQUIRE(due() == Wants::kLook);
  pass(1h);
  CHECK(due() == Wants::kNothing);
  REQUIRE(looked(state_) == Wants::kKeep);
  pass(1h);
  CHECK(due() == Wants::kNothing);
}

TEST_CASE_METHOD(SaveWatchFixture, "what happens during a look makes it void") {
  touch();
  pass(kStillFor);
  REQUIRE(due() == Wants::kLook);
  pass(10ms);
  touch();
  pass(10ms);
  CHECK(looked(state_) == Wants::kNothing);
  CHECK(watch_.next_look() == now_ - 10ms + kStillFor);
  CHECK(look_again(state_) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "what happens while a snapshot is taken is looked at later") {
  REQUIRE(look_after_touch(state_) == Wants::kKeep);
  pass(10ms);
  touch();
  const TimePoint again = now_ + kStillFor;
  pass(5s);
  CHECK(kept(true) == Wants::kNothing);
  CHECK(watch_.next_look() == again);
  CHECK(due() == Wants::kLook);
  CHECK(looked({a_file("model.pt", 8)}) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "a snapshot that could not be taken is tried again") {
  REQUIRE(look_after_touch(state_) == Wants::kKeep);
  pass(1s);
  CHECK(kept(false) == Wants::kNothing);
  CHECK(watch_.next_look() == now_ + kStillFor);
  CHECK(look_again(state_) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "nothing is kept twice") {
  REQUIRE(look_after_touch(state_) == Wants::kKeep);
  kept(true);
  CHECK(look_after_touch(state_) == Wants::kNothing);
  CHECK_FALSE(watch_.next_look());
  CHECK(look_after_touch({a_file("model.pt"), a_file("train.log")}) == Wants::kNothing);
  CHECK(look_after_touch({a_file("model.pt", 8)}) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "an open file or an unfinished name delays a snapshot") {
  CHECK(look_after_touch(state_, {"model.pt"}) == Wants::kNothing);
  CHECK(watch_.next_look() == now_ + kStillFor);
  CHECK(look_again({a_file("model.pt"), a_file("optimizer.pt.tmp")}) == Wants::kNothing);
  CHECK(look_again({a_file("model.pt"), a_folder(".tmp-2"), a_file(".tmp-2/x")}) ==
        Wants::kNothing);
  CHECK(look_again(state_) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "a log delays nothing, open or unfinished") {
  CHECK(look_after_touch(
            {a_file("model.pt"), a_file("train.log"), a_folder("wandb"), a_file("wandb/media.tmp")},
            {"train.log"}) == Wants::kKeep);
}

TEST_CASE_METHOD(SaveWatchFixture, "the user hears once of a file that is open for long") {
  look_after_touch(state_, {"model.pt"});
  const TimePoint since = now_;
  while (now_ + kStillFor < since + kTellOpenAfter) {
    look_again(state_, {"model.pt"});
    CHECK(watch_.told_open(now_).empty());
  }
  look_again(state_, {"model.pt"});
  CHECK(watch_.told_open(now_) == "model.pt");
  look_again(state_, {"model.pt"});
  pass(1h);
  CHECK(watch_.told_open(now_).empty());
}

TEST_CASE_METHOD(SaveWatchFixture, "of another file, and of the same one later, the user hears") {
  look_after_touch(state_, {"a"});
  pass(kTellOpenAfter);
  CHECK(watch_.told_open(now_) == "a");
  look_again(state_, {"b"});
  CHECK(watch_.told_open(now_).empty());
  pass(kTellOpenAfter);
  CHECK(watch_.told_open(now_) == "b");
  REQUIRE(look_again(state_) == Wants::kKeep);
  kept(true);
  pass(kTellOpenAfter);
  CHECK(watch_.told_open(now_).empty());
  look_after_touch(state_, {"b"});
  pass(kTellOpenAfter);
  CHECK(watch_.told_open(now_) == "b");
}

TEST_CASE_METHOD(SaveWatchFixture,
                 "a folder that lacks a file of its kind has a minute to get it") {
  const FolderState first{a_folder("c-1"), a_file("c-1/model"), a_file("c-1/rng_0"),
                          a_file("c-1/rng_1")};
  REQUIRE(look_after_touch(first) == Wants::kKeep);
  kept(true);
  FolderState second = first;
  for (const char* path : {"c-2/model", "c-2/rng_0"}) second.push_back(a_file(path));
  second.push_back(a_folder("c-2"));
  CHECK(look_after_touch(second) == Wants::kNothing);
  CHECK(watch_.next_look() == now_ - kStillFor + kStillForLonger);
  SECTION("it comes") {
    second.push_back(a_file("c-2/rng_1"));
    CHECK(look_after_touch(second) == Wants::kKeep);
  }
  SECTION("it does not come: then the save is another one") {
    pass(kStillForLonger);
    REQUIRE(due() == Wants::kLook);
    CHECK(looked(second) == Wants::kKeep);
  }
}

TEST_CASE_METHOD(SaveWatchFixture, "when workers have ended, the watch begins again") {
  look_after_touch(state_, {"model.pt"});
  watch_.begin_anew();
  CHECK_FALSE(watch_.next_look());
  pass(1h);
  CHECK(due() == Wants::kNothing);
  CHECK(watch_.told_open(now_).empty());
  CHECK(look_after_touch(state_) == Wants::kKeep);
}

}  // namespace
}  // namespace ddprun
