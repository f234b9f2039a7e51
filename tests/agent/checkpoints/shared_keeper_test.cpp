// Two SharedKeepers, each with a memory of its own, and the coordinator's JobCheckpoints.
#include "agent/checkpoints/shared_keeper.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "rendezvous/rounds/job_checkpoints.hpp"
#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using Said = CheckpointSaid::What;
using Tree = std::map<std::string, std::string>;

class SharedKeeperFixture {
 protected:
  SharedKeeperFixture() {
    for (const int node : {0, 1}) {
      fs::create_directory(scratch_ / ("memory-" + number(node)));
      nodes_.add(node + 1, Join{.node = number(node)}, node, TimePoint{});
      nodes_.find(number(node))->address = "localhost";
      comes(node);
    }
    begin_round({});
  }
  ~SharedKeeperFixture() {
    for (const auto& keeper : keepers_) run(keeper->end(false));
    loop_.restart();
    loop_.poll();
  }
  void comes(int node) {
    const CheckpointSpec spec{(scratch_ / ("out-" + number(node))).string(), disk_, true};
    const auto place = static_cast<std::size_t>(node);
    if (keepers_.size() <= place) keepers_.emplace_back();
    keepers_[place] = std::make_unique<SharedKeeper>(
        loop_.get_executor(), spec, [](const CheckpointNews&) {}, PeerTls{},
        scratch_ / ("memory-" + number(node)));
    SharedKeeper& keeper = *keepers_[place];
    keeper.speak_with([this, node](const CheckpointSaid& word) { hear(node, word); });
    std::optional<Result<void>> begun;
    run(then(keeper.begin(), [&](Result<void> how) { begun = std::move(how); }));
    REQUIRE(begun->has_value());
    checkpoints_.holds(number(node), *keeper.held());
  }
  static std::string number(int node) { return std::to_string(node); }

  void begin_round(const RoundCheckpoint& from) {
    ++job_.counters.round;
    for (const int node : {0, 1}) {
      nodes_.find(number(node))->seats.enter(job_.counters.round, node, node);
      std::optional<Result<void>> begun;
      CheckpointKeeper::Round round{node, 2, from};
      run(then(keepers_[static_cast<std::size_t>(node)]->begin_round(std::move(round)),
               [&](Result<void> how) { begun = std::move(how); }));
      INFO((*begun ? "" : begun->error().message));
      REQUIRE(begun->has_value());
    }
    checkpoints_.begin_round(2, from);
  }
  /// All workers are stopped, and nodes tell what they hold. Returns where the next round begins.
  RoundCheckpoint stop() {
    checkpoints_.end_round();
    for (const int node : {0, 1}) {
      keepers_[static_cast<std::size_t>(node)]->workers_end();
      run(keepers_[static_cast<std::size_t>(node)]->end_round(false));
      checkpoints_.holds(number(node), *keepers_[static_cast<std::size_t>(node)]->held());
    }
    REQUIRE(checkpoints_.is_ready());
    return checkpoints_.next();
  }
  /// Both nodes have the other one's part.
  void run_until_copied(int checkpoint) {
    run_until([&] {
      return std::ranges::all_of(keepers_, [&](const auto& keeper) {
        const auto copies = keeper->held()->copies;
        return !copies.empty() && copies.back().number == checkpoint;
      });
    });
  }
  void hear(int node, const CheckpointSaid& word) {
    said_.emplace_back(node, word);
    checkpoints_.said(number(node), word, Clock::now());
    deliver();
  }
  void deliver() {
    for (const CoordinatorAction& action : out_.take(false)) {
      const auto& [peer, message] = std::get<SendTo>(action);
      const auto order = std::get<CheckpointOrder>(message);
      asio::post(loop_, [this, order, node = static_cast<std::size_t>(peer - 1)] {
        keepers_[node]->obey(order);
      });
    }
  }
  void run(asio::awaitable<void> work) {
    bool ended = false;
    start_coroutine(loop_, then_note(std::move(work), ended), report_failure("the test"));
    run_until([&] { return ended; });
  }
  static asio::awaitable<void> then_note(asio::awaitable<void> work, bool& ended) {
    co_await std::move(work);
    ended = true;
  }
  template <typename Condition>
  void run_until(Condition condition) {
    loop_.restart();
    while (!condition()) loop_.run_one();
  }
  void run_until_written(int checkpoint) {
    run_until([&] { return checkpoints_.next().number >= checkpoint || checkpoints_.next_due(); });
    REQUIRE(checkpoints_.next().number == checkpoint);
    for (const auto& keeper : keepers_)
      run_until([&] { return keeper->held()->written == checkpoint; });
  }
  /// Until a node has refused to keep its part.
  void run_until_refused() {
    said_.clear();
    run_until([&] {
      return std::ranges::any_of(said_, [](const auto& said) {
        return said.second.what == Said::kKept && !said.second.done;
      });
    });
  }

  fs::path in_folder(int node, const std::string& path) const {
    return scratch_ / ("out-" + number(node)) / path;
  }
  void save(int node, const std::string& path, const std::string& text) const {
    std::ofstream{in_folder(node, path)} << text;
  }
  Tree seen_by(int node) const { return tree_of(fs::canonical(in_folder(node, ""))); }

  ScratchFolder scratch_;
  const std::string disk_ = (scratch_ / "disk").string();
  asio::io_context loop_{1};
  const CoordinatorRules rules_{.terms = {.nodes_min = 2, .nodes_max = 2, .checkpoints = true}};
  Roster nodes_;
  JobState job_;
  Outbox out_;
  JobCheckpoints checkpoints_{nodes_, rules_, job_, out_};
  std::vector<std::unique_ptr<SharedKeeper>> keepers_;
  std::vector<std::pair<int, CheckpointSaid>> said_;
};

TEST_CASE_METHOD(SharedKeeperFixture, "what all nodes have saved is on disk, and put back on all") {
  save(0, "a.pt", "a");
  save(1, "b.pt", "b");
  run_until_written(1);
  const Tree both{{"a.pt", "a"}, {"b.pt", "b"}};
  CHECK(tree_of(disk_) == both);
  CHECK(seen_by(0) == Tree{{"a.pt", "a"}});
  begin_round({.number = 1});
  CHECK(seen_by(0) == both);
  CHECK(seen_by(1) == both);

  fs::remove(in_folder(0, "b.pt"));
  run_until_written(2);
  CHECK(tree_of(disk_) == Tree{{"a.pt", "a"}});
  CHECK(seen_by(1) == Tree{{"a.pt", "a"}});
}

/// A disk on which nothing can be written: what is put back is in memory alone.
class NoDiskFixture : public SharedKeeperFixture {
 protected:
  NoDiskFixture() { std::ofstream{fs::path{disk_} / ".ddprun"} << "in the place of a folder"; }
  /// The files of a node's memory, beside those of the program's folder.
  std::vector<fs::path> kept_files(int node) const {
    std::vector<fs::path> files;
    for (const auto& entry :
         fs::recursive_directory_iterator{scratch_ / ("memory-" + number(node))}) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && path.find("/kept/") != std::string::npos &&
          !path.ends_with(".json"))
        files.push_back(entry.path());
    }
    return files;
  }
};

TEST_CASE_METHOD(NoDiskFixture, "what nodes have saved is put back on all from their memory") {
  save(0, "a.pt", "a");
  save(1, "b.pt", "b");
  run_until_copied(1);
  const RoundCheckpoint start = stop();
  CHECK(start.number == 1);
  CHECK(start.sources.size() == 4);
  begin_round(start);
  const Tree both{{"a.pt", "a"}, {"b.pt", "b"}};
  CHECK(seen_by(0) == both);
  CHECK(seen_by(1) == both);
  SECTION("and once more, where each has all of it") {
    save(0, "a.pt", "half");
    begin_round(stop());
    CHECK(seen_by(0) == both);
  }
  SECTION("and what they save then is the next one") {
    save(1, "c.pt", "c");
    run_until_copied(2);
    begin_round(stop());
    CHECK(seen_by(0) == Tree{{"a.pt", "a"}, {"b.pt", "b"}, {"c.pt", "c"}});
  }
}

TEST_CASE_METHOD(NoDiskFixture, "a node that has lost its memory gets it back from the other one") {
  save(0, "a.pt", "a");
  save(1, "b.pt", "b");
  run_until_copied(1);
  stop();
  run(keepers_[1]->end(true));
  loop_.poll();
  keepers_[1].reset();
  fs::remove_all(scratch_ / "memory-1");
  fs::create_directory(scratch_ / "memory-1");
  checkpoints_.lost("1", Clock::now());
  comes(1);
  REQUIRE(checkpoints_.is_ready());
  begin_round(checkpoints_.next());
  CHECK(seen_by(1) == Tree{{"a.pt", "a"}, {"b.pt", "b"}});
}

TEST_CASE_METHOD(NoDiskFixture,
                 "a file whose bytes have changed in memory comes from the other node") {
  save(0, "a.pt", "aaaa");
  save(1, "b.pt", "bbbb");
  run_until_copied(1);
  const RoundCheckpoint start = stop();
  SECTION("where they are this node's own") {
    for (const fs::path& file : kept_files(0))
      if (file.filename() == "a.pt") std::ofstream{file, std::ios::in} << "x";
    std::ofstream{in_folder(0, "a.pt")} << "half";
  }
  SECTION("where they are the other node's") {
    for (const fs::path& file : kept_files(1))
      if (file.parent_path().filename() == "1-1of2") std::ofstream{file, std::ios::in} << "x";
    std::ofstream{in_folder(1, "b.pt")} << "half";
  }
  begin_round(start);
  const Tree both{{"a.pt", "aaaa"}, {"b.pt", "bbbb"}};
  CHECK(seen_by(0) == both);
  CHECK(seen_by(1) == both);
}

/// Both nodes have saved, and node 1 saves again while node 0 is kept.
class SlowSaveFixture : public SharedKeeperFixture {
 protected:
  SlowSaveFixture() {
    save(0, "a.pt", "a");
    save(1, "b.pt", "b");
    run_until_written(1);
  }
  /// Its save ends when node 1 has refused to keep its part.
  void saves_slowly() {
    std::ofstream slow{in_folder(1, "c.pt")};
    slow << "c" << std::flush;
    run_until_refused();
    CHECK(checkpoints_.next().number == 1);
  }
};

TEST_CASE_METHOD(SlowSaveFixture, "a save that takes longer on one node counts when it has ended") {
  save(0, "a.pt", "a2");
  saves_slowly();
  run_until_written(3);
  CHECK(tree_of(disk_) == Tree{{"a.pt", "a2"}, {"b.pt", "b"}, {"c.pt", "c"}});
}

TEST_CASE_METHOD(SlowSaveFixture, "what was removed while another node saved goes on all nodes") {
  begin_round({.number = 1});
  save(0, "a.pt", "a2");
  fs::remove(in_folder(0, "b.pt"));
  saves_slowly();
  run_until_written(3);
  CHECK(tree_of(disk_) == Tree{{"a.pt", "a2"}, {"c.pt", "c"}});
  CHECK(seen_by(1) == Tree{{"a.pt", "a"}, {"c.pt", "c"}});
}

TEST_CASE_METHOD(SharedKeeperFixture, "what workers leave that were killed is not kept") {
  save(0, "a.pt", "a");
  run_until([&] { return !said_.empty(); });
  CHECK(said_.back().second.what == Said::kSaved);
  keepers_[0]->workers_end();  // before the order to keep it comes
  run_until_refused();
}

TEST_CASE_METHOD(SharedKeeperFixture, "what workers have saved that have all ended well is kept") {
  save(0, "a.pt", "a");
  keepers_[0]->workers_end();
  run(keepers_[0]->end_round(true));
  keepers_[0]->obey({.what = CheckpointOrder::What::kKeep, .number = 1});
  run_until([&] { return !said_.empty(); });
  CHECK(said_.back().second.done);
}

/// One node obeys a coordinator that the test speaks for.
class OneKeeperFixture : public SharedKeeperFixture {
 protected:
  OneKeeperFixture() {
    checkpoints_.stand_by();
    nodes_.clear();
  }
  void is_ordered(CheckpointOrder::What what, int number) {
    keepers_[0]->obey({.what = what, .number = number, .parts = 2});
  }
  /// The node's answers of that kind, once there are that many.
  std::vector<CheckpointSaid> answers(Said what, std::size_t count) {
    std::vector<CheckpointSaid> found;
    run_until([&] {
      found.clear();
      for (const auto& [node, word] : said_)
        if (word.what == what) found.push_back(word);
      return found.size() >= count;
    });
    return found;
  }
};

TEST_CASE_METHOD(OneKeeperFixture,
                 "a number that another coordinator gives again is the new part") {
  save(0, "a.pt", "a");
  answers(Said::kSaved, 1);
  is_ordered(CheckpointOrder::What::kKeep, 5);
  REQUIRE(answers(Said::kKept, 1).back().done);
  save(0, "b.pt", "b");
  answers(Said::kSaved, 2);
  is_ordered(CheckpointOrder::What::kKeep, 5);
  REQUIRE(answers(Said::kKept, 2).back().done);
  is_ordered(CheckpointOrder::What::kCounts, 5);
  CHECK(keepers_[0]->held()->parts == std::vector<CheckpointPart>{{5, 0, 2, 0, 2}});
  is_ordered(CheckpointOrder::What::kStage, 5);
  CHECK(answers(Said::kStaged, 1).back().done);
  CHECK(fs::exists(fs::path{disk_} / ".ddprun/parts/0/1"));
}

TEST_CASE_METHOD(OneKeeperFixture, "a part that is being staged is not staged twice") {
  save(0, "a.pt", "a");
  answers(Said::kSaved, 1);
  is_ordered(CheckpointOrder::What::kKeep, 1);
  REQUIRE(answers(Said::kKept, 1).back().done);
  is_ordered(CheckpointOrder::What::kCounts, 1);
  is_ordered(CheckpointOrder::What::kStage, 1);
  is_ordered(CheckpointOrder::What::kStage, 1);
  answers(Said::kStaged, 1);
  said_.clear();
  is_ordered(CheckpointOrder::What::kMove, 0);
  answers(Said::kWritten, 1);
  CHECK(said_.size() == 1);
}

}  // namespace
}  // namespace ddprun
