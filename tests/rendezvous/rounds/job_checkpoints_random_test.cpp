// Nodes that save, refuse, are lost and come back at random, with disks that fail: whatever
// happens, what is on disk is one checkpoint of all nodes, and nothing waits for ever.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/rounds/job_checkpoints.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/simulation/random.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Said = CheckpointSaid::What;

/// What a node's folder has: of which round it is, and how often the node has saved in it.
struct Content {
  int round = 0;
  int version = 0;
  bool is_half = false;
  bool operator==(const Content&) const = default;
};

/// A part, and what the node had in its folder when it was kept.
struct KeptPart {
  CheckpointPart part;
  Content content;
  bool counts = false;
};

/// An agent of which the test sees all that it keeps.
struct ModelNode {
  bool is_there = false;
  int incarnation = 0;
  bool runs = false;
  int round = 0;
  int rank = 0;
  int nodes = 0;
  Content content;
  Content counted;  // as the last checkpoint that counts has it
  bool saves = false;
  bool owes_word = false;
  bool ended_well = false;
  std::vector<KeptPart> kept;
  int written = 0;
  std::vector<CheckpointOrder> orders;  // not obeyed yet
};

/// The folder on disk.
struct ModelDisk {
  int number = 0;
  std::map<int, Content> parts;                    // by part, of the checkpoint there
  std::map<int, std::pair<KeptPart, int>> staged;  // beside it
};

class RandomJob : protected RoundFixture {
 protected:
  static constexpr int kNodes = 3;

  void begin(std::uint64_t seed) {
    random_ = simulation::Random{seed};
    now_ = TimePoint{} + 1h;
    job({.nodes_min = 1,
         .nodes_max = kNodes,
         .restarts_max = 1'000'000,
         .last_call_timeout = 0ms,
         .hang_timeout = kHangTimeoutOff,
         .checkpoints = true});
    nodes_.clear();
    disk_ = {};
    for (int node = 0; node < kNodes; ++node) comes(name_of(node));
    answer_all();
  }

  static NodeId name_of(int node) { return std::string(1, static_cast<char>('a' + node)); }

  // --- what nodes do ---

  void comes(const NodeId& id) {
    ModelNode& node = nodes_[id];
    const auto kept = node.kept;  // memory outlives an agent
    node = {.is_there = true, .incarnation = node.incarnation + 1, .kept = kept};
    std::erase_if(node.kept, [](const KeptPart& part) { return !part.counts; });
    node.written = disk_.number;
    Join join = join_of(id);
    join.incarnation = node.incarnation;
    says(id, join);
    tell_held(id);
  }
  void tell_held(const NodeId& id) {
    const ModelNode& node = nodes_[id];
    HeldCheckpoints held{.written = node.written, .ended_well = node.ended_well};
    for (const KeptPart& part : node.kept)
      if (part.counts) held.parts.push_back(part.part);
    if (held.parts.size() > kPartsHeldMax)
      held.parts.erase(held.parts.begin(),
                       held.parts.end() - static_cast<std::ptrdiff_t>(kPartsHeldMax));
    says(id, held);
  }
  void goes(const NodeId& id, bool with_memory) {
    ModelNode& node = nodes_[id];
    if (!node.is_there) return;
    node.is_there = node.runs = false;
    node.orders.clear();
    if (with_memory) node.kept.clear();
    is_lost(id);
  }
  void begins_save(ModelNode& node) {
    if (!node.is_there || !node.runs || node.saves || node.ended_well) return;
    node.saves = true;
    ++node.content.version;
    node.content.is_half = true;
  }
  void ends_save(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there || !node.runs || !node.saves) return;
    node.saves = false;
    node.content.is_half = false;
    node.owes_word = false;
    says(id, CheckpointSaid{.what = Said::kSaved});
  }
  void fails_on(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there || !node.runs || node.ended_well) return;
    node.runs = node.saves = false;
    fails(id, node.round, node.rank);
  }

  /// The coordinator is gone, and another one knows only what nodes tell it.
  void loses_coordinator() {
    ++coordinators_;
    job(rules_);
    for (auto& [id, node] : nodes_)
      if (std::exchange(node.is_there, false)) comes(id);
  }

  // --- what they are ordered ---

  /// What a node says to an order may be followed by orders for others.
  void collect_all() {
    bool is_news = true;
    while (std::exchange(is_news, false))
      for (auto& [id, node] : nodes_) is_news |= collect(id);
    forget_what_was_done();
  }
  bool collect(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there) return false;
    const auto all = orders<CheckpointOrder>(id);
    for (const CheckpointOrder& order : all)
      if (order.what == CheckpointOrder::What::kCounts)
        count(id, order.number);
      else
        node.orders.push_back(order);
    const auto stop = order<StopRound>(id);
    if (stop) stops(id, *stop);
    const auto start = order<StartRound>(id);
    if (start) starts(node, *start);
    if (order<Refused>(id) || dropped(id)) node.is_there = false;
    return !all.empty() || stop || start;
  }
  void stops(const NodeId& id, const StopRound& stop) {
    ModelNode& node = nodes_[id];
    node.runs = node.saves = false;
    tell_held(id);
    says(id, WorkersStopped{stop.round});
  }
  void starts(ModelNode& node, const StartRound& start) {
    // Workers that cannot know where to continue do not begin: the model lets them.
    if (start.checkpoint != kUnknownCheckpoint) REQUIRE(start.checkpoint == disk_.number);
    node.runs = true;
    node.ended_well = node.saves = false;
    node.round = start.round;
    node.rank = start.group_rank;
    node.nodes = start.group_world_size;
    node.written = disk_.number;
    node.content = node.counted = {.round = 1000 * coordinators_ + start.round};
    std::erase_if(node.kept, [&](const KeptPart& part) { return part.part.number > node.written; });
  }
  void obey_one(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there || node.orders.empty()) return;
    const CheckpointOrder order = node.orders.front();
    node.orders.erase(node.orders.begin());
    obey(id, order);
  }
  void obey(const NodeId& id, const CheckpointOrder& order) {
    using What = CheckpointOrder::What;
    switch (order.what) {
      case What::kKeep:
        return keep(id, order);
      case What::kCounts:
        return count(id, order.number);
      case What::kStage:
        return stage(id, order.number);
      case What::kMove:
        return move(id, order.number, order.parts);
      case What::kWritten:
        nodes_[id].written = disk_.number;
    }
  }
  void keep(const NodeId& id, const CheckpointOrder& order) {
    ModelNode& node = nodes_[id];
    CheckpointSaid answer{.what = Said::kKept, .number = order.number};
    const bool may = order.at_end || node.runs || node.ended_well;
    if (may && !node.saves && random_.chance(95)) {
      std::erase_if(node.kept,
                    [&](const KeptPart& part) { return part.part.number >= order.number; });
      node.kept.push_back({{order.number, node.rank, node.nodes, node.round}, node.content});
      answer.done = true;
      answer.changed = node.content != node.counted;
    }
    says(id, answer);
    // A node that refuses without saving says so when its folder is still again.
    if (!answer.done && node.runs && !node.saves) says(id, CheckpointSaid{.what = Said::kSaved});
  }
  void count(const NodeId& id, int number) {
    ModelNode& node = nodes_[id];
    REQUIRE(std::ranges::count(node.kept, number,
                               [](const KeptPart& part) { return part.part.number; }) == 1);
    for (KeptPart& part : node.kept) {
      if (part.part.number != number) continue;
      part.counts = true;
      node.counted = part.content;
      REQUIRE_FALSE(part.content.is_half);
    }
    std::erase_if(node.kept,
                  [&](const KeptPart& part) { return part.part.number < number && !part.counts; });
  }
  void stage(const NodeId& id, int number) {
    bool done = false;
    for (const KeptPart& part : nodes_[id].kept) {
      if (part.part.number != number || random_.chance(disk_fails_)) continue;
      disk_.staged[part.part.part] = {part, part.part.parts};
      done = true;
    }
    says(id, CheckpointSaid{.what = Said::kStaged, .number = number, .done = done});
  }
  void move(const NodeId& id, int number, int parts) {
    bool done = !random_.chance(disk_fails_);
    if (done && number != 0 && disk_.number != number) {
      done = static_cast<int>(disk_.staged.size()) >= parts;
      for (int part = 0; done && part < parts; ++part)
        done = disk_.staged.contains(part) && disk_.staged[part].first.part.number == number &&
               disk_.staged[part].second == parts;
      if (done) take_parts(number, parts);
    }
    says(id, CheckpointSaid{.what = Said::kWritten, .number = disk_.number, .done = done});
  }
  /// The heart of it: one number, nobody's half, and never an older one.
  void take_parts(int number, int parts) {
    REQUIRE(number > disk_.number);
    disk_.parts.clear();
    for (int part = 0; part < parts; ++part) {
      REQUIRE_FALSE(disk_.staged[part].first.content.is_half);
      REQUIRE(disk_.staged[part].first.counts);
      REQUIRE(disk_.staged[part].first.content.round == disk_.staged[0].first.content.round);
      disk_.parts[part] = disk_.staged[part].first.content;
    }
    disk_.number = number;
    disk_.staged.clear();
  }

  // --- progress ---

  void beat() {
    for (auto& [id, node] : nodes_)
      if (node.is_there) says(id, Beat{});
  }
  void answer_all() {
    for (int turn = 0; turn < 60; ++turn) {
      bool was_busy = false;
      collect_all();
      for (auto& [id, node] : nodes_) {
        was_busy |= node.is_there && !node.orders.empty();
        obey_one(id);
      }
      if (!was_busy) return;
    }
    FAIL("orders have no end");
  }
  /// Once all is answered, and time enough has passed, those that are there run, or the job is
  /// over.
  void check_progress() {
    disk_fails_ = 0;
    collect_all();
    for (auto& [id, node] : nodes_)
      if (!node.is_there) comes(id);
    for (int seconds = 0; seconds < 40; ++seconds) {
      answer_all();
      passes(1s);
      beat();
    }
    answer_all();
    int running = 0;
    for (auto& [id, node] : nodes_) running += node.runs ? 1 : 0;
    REQUIRE(running == kNodes);
    const int before = disk_.number;
    for (auto& [id, node] : nodes_) {
      begins_save(node);
      ends_save(id);
    }
    for (int seconds = 0; seconds < 100 && disk_.number == before; ++seconds) {
      for (auto& [id, node] : nodes_) ends_save(id);
      answer_all();
      passes(1s);
      beat();
    }
    REQUIRE(disk_.number > before);
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
    else
      obey_one(id);
    collect_all();
  }

  simulation::Random random_{1};
  std::map<NodeId, ModelNode> nodes_;
  ModelDisk disk_;
  int coordinators_ = 1;
  int disk_fails_ = 10;  // in a hundred tries
};

TEST_CASE_METHOD(RandomJob, "whatever happens, what is on disk is one checkpoint of all nodes") {
  int written = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    INFO("seed " << seed);
    begin(seed);
    disk_fails_ = random_.chance(50) ? 10 : 0;
    for (int event = 0; event < 300; ++event) one_event();
    check_progress();
    written += disk_.number;
  }
  CHECK(written > 2'000);
}

}  // namespace
}  // namespace ddprun
