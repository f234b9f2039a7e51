// Nodes that save, refuse, are lost and come back at random, with disks that fail: whatever
// happens, what is on disk is one checkpoint of all nodes, and nothing waits for ever.
//
// DDPRUN_TEST_SEEDS=100000 tries that many, in place of 2,000, and DDPRUN_TEST_FIRST_SEED others.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/rendezvous/rounds/checkpoints_cluster.hpp"

namespace ddprun {
namespace {

class RandomJob : public CheckpointsCluster {
 protected:
  /// Once all is answered, and time enough has passed, those that are there run, or the job is
  /// over.
  void check_progress() {
    disk_fails_ = 0;
    collect_all();
    for (auto& [id, node] : nodes_)
      if (!node.is_there) comes(id);
    const bool has_finished =
        std::ranges::any_of(nodes_, [](const auto& node) { return node.second.ended_well; });
    for (auto& [id, node] : nodes_)
      if (has_finished) fails_on(id);  // so that all begin again, if they have not all finished
    for (int seconds = 0; seconds < 40; ++seconds) {
      answer_all();
      passes(1s);
      beat();
    }
    answer_all();
    if (machine_->ended()) return;
    int running = 0;
    for (auto& [id, node] : nodes_) running += node.runs ? 1 : 0;
    REQUIRE(running == kNodes);
    REQUIRE(disk_.number >= newest_whole(nodes_));
    switch (random_.number(1, 3)) {
      case 1:
        return check_end();
      case 2:
        return check_copies();
      default:
        check_writing();
    }
  }
  void check_writing() {
    const int before = disk_.number;
    for (auto& [id, node] : nodes_) {
      if (id == "a" || random_.chance(70)) begins_save(node);
      ends_save(id);
    }
    for (int seconds = 0; seconds < 300 && disk_.number == before; ++seconds) {
      for (auto& [id, node] : nodes_) ends_save(id);
      answer_all();
      passes(1s);
      beat();
    }
    REQUIRE(disk_.number > before);
  }
  /// Where a node is lost that has finished, others go on, and a copy of its part is written.
  void check_copies() {
    disk_fails_ = 100;
    for (auto& [id, node] : nodes_) {
      begins_save(node);
      ends_save(id);
    }
    answer_all();
    finishes("c");
    goes("c", true);
    disk_fails_ = 0;
    long_passes();
    answer_all();
    REQUIRE(disk_.number >= newest_whole(nodes_));
  }
  /// A job that ends well leaves on disk what its nodes have saved last.
  void check_end() {
    for (auto& [id, node] : nodes_) {
      if (id == "a" || random_.chance(50)) begins_save(node);
      if (random_.chance(50)) ends_save(id);
      if (random_.chance(50)) answer_all();
      finishes(id);
    }
    for (int seconds = 0; seconds < 100 && !machine_->ended(); ++seconds) {
      answer_all();
      passes(1s);
      beat();
    }
    REQUIRE(machine_->ended());
    REQUIRE(disk_.parts.size() == kNodes);
    for (auto& [id, node] : nodes_) REQUIRE(disk_.parts[node.rank] == node.content);
  }

  void one_event() {
    const NodeId id = name_of(random_.number(0, kNodes - 1));
    const int what = random_.number(1, 100);
    if (what <= 15)
      begins_save(nodes_[id]);
    else if (what <= 32)
      ends_save(id);
    else if (what <= 34)
      fails_on(id);
    else if (what <= 36)
      goes(id, random_.chance(50));
    else if (what <= 39 && !nodes_[id].is_there)
      comes(id);
    else if (what <= 44) {
      passes(random_.chance(80) ? 300ms : 2s);
      beat();
    } else if (what == 45 && random_.chance(30))
      loses_coordinator();
    else if (what == 46)
      finishes(id);
    else if (what == 47 && nodes_[id].is_there)
      comes_again(id);
    else if (what == 48 && random_.chance(20))
      long_passes();
    else
      obey_one(id);
    collect_all();
  }
};

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

TEST_CASE_METHOD(RandomJob, "whatever happens, what is on disk is one checkpoint of all nodes") {
  const std::uint64_t first = number_of("DDPRUN_TEST_FIRST_SEED", 1);
  const std::uint64_t seeds = number_of("DDPRUN_TEST_SEEDS", 2'000);
  std::uint64_t written = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    INFO("seed " << seed);
    gives_ = seed % 4 != 0;
    begin(seed);
    disk_fails_ = random_.chance(50) ? 10 : 0;
    for (int event = 0; event < 300 && !machine_->ended(); ++event) one_event();
    if (!machine_->ended()) check_progress();
    written += disk_.number;
  }
  if (seeds < 1'000) return;  // a seed that failed is tried alone
  CHECK(written > seeds);
  CHECK(memory_starts_ > seeds);
  CHECK(older_starts_ > seeds / 100);
}

}  // namespace
}  // namespace ddprun
