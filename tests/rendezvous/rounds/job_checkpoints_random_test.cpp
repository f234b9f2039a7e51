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
#include "tests/rendezvous/rounds/checkpoints_model.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/simulation/random.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Said = CheckpointSaid::What;

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
    loaded_ = 0;
    failing_.clear();
    for (int node = 0; node < kNodes; ++node) comes(name_of(node));
    answer_all();
  }

  static NodeId name_of(int node) { return std::string(1, static_cast<char>('a' + node)); }

  // --- what nodes do ---

  void comes(const NodeId& id) {
    ModelNode& node = nodes_[id];
    const auto kept = node.kept;  // memory outlives an agent
    const auto copies = node.copies;
    node = {.is_there = true, .incarnation = node.incarnation + 1, .kept = kept, .copies = copies};
    std::erase_if(node.kept, [](const KeptPart& part) { return !part.counts; });
    node.written = disk_.number;
    Join join = join_of(id);
    join.incarnation = node.incarnation;
    says(id, join);
    tell_held(id);
  }
  void tell_held(const NodeId& id) {
    const ModelNode& node = nodes_[id];
    HeldCheckpoints held{.parts = {},
                         .written = node.written,
                         .ended_well = node.ended_well,
                         .room = random_.chance(80) ? 1 : random_.number(-1, 0),
                         .port = gives_ ? 7000 : 0,
                         .ticket = id};
    for (const KeptPart& part : node.kept)
      if (part.counts) held.parts.push_back(part.part);
    for (const KeptPart& part : node.copies) held.copies.push_back(part.part);
    for (auto* const parts : {&held.parts, &held.copies})
      if (parts->size() > kPartsHeldMax)
        parts->erase(parts->begin(), parts->end() - static_cast<std::ptrdiff_t>(kPartsHeldMax));
    says(id, held);
  }
  void goes(const NodeId& id, bool with_memory) {
    ModelNode& node = nodes_[id];
    if (!node.is_there) return;
    node.is_there = node.runs = false;
    node.orders.clear();
    if (with_memory) node.kept.clear();
    if (with_memory) node.copies.clear();
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
    failing_.clear();
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
        count(id, order);
      else
        node.orders.push_back(order);
    const auto stop = order<StopRound>(id);
    if (stop) stops(id, *stop);
    const auto start = order<StartRound>(id);
    if (start) starts(id, *start);
    if (order<Refused>(id) || dropped(id)) node.is_there = false;
    return !all.empty() || stop || start;
  }
  void stops(const NodeId& id, const StopRound& stop) {
    ModelNode& node = nodes_[id];
    node.runs = node.saves = false;
    tell_held(id);
    says(id, WorkersStopped{stop.round});
  }
  void starts(const NodeId& id, const StartRound& start) {
    ModelNode& node = nodes_[id];
    // Workers that cannot know where to continue do not begin: the model lets them.
    if (start.checkpoint.number != kUnknownCheckpoint) {
      if (start.checkpoint.older && loaded_ > start.checkpoint.number) failing_.insert(loaded_);
      REQUIRE((start.checkpoint.number >= disk_.number || failing_.contains(disk_.number)));
      REQUIRE((start.checkpoint.number == disk_.number || !start.checkpoint.sources.empty()));
    }
    older_starts_ += start.checkpoint.older ? 1 : 0;
    loaded_ = start.checkpoint.number;
    node.runs = true;
    node.ended_well = node.saves = false;
    node.round = start.round;
    node.rank = start.group_rank;
    node.nodes = start.group_world_size;
    node.written = disk_.number;
    node.content = node.counted = {.round = 1000 * coordinators_ + start.round};
    if (!start.checkpoint.sources.empty()) gather(node, start);
    const int from = std::max(start.checkpoint.number, 0);
    for (auto* const parts : {&node.kept, &node.copies})
      std::erase_if(*parts, [&](const KeptPart& part) { return part.part.number > from; });
    tell_held(id);
  }
  /// All parts are where the order says, and of one moment.
  void gather(ModelNode& node, const StartRound& start) {
    memory_starts_++;
    std::map<int, KeptPart> parts;
    for (const PartSource& source : start.checkpoint.sources) {
      ModelNode& giver = nodes_[source.ticket];
      REQUIRE(source.part.number == start.checkpoint.number);
      const KeptPart* const given = find_part(giver, source.part);
      REQUIRE(given != nullptr);
      parts.emplace(source.part.part, *given);
    }
    REQUIRE(static_cast<int>(parts.size()) == start.checkpoint.sources.front().part.parts);
    for (const auto& [number, part] : parts) {
      REQUIRE_FALSE(part.content.is_half);
      REQUIRE(part.content.round == parts.begin()->second.content.round);
    }
    KeptPart whole = parts.begin()->second;
    whole.part.part = 0;
    whole.part.parts = 1;
    whole.counts = true;
    for (KeptPart& own : node.kept)
      if (own.part.number == start.checkpoint.number && own.part.parts > 1)
        node.copies.push_back(own);
    std::erase_if(node.kept,
                  [&](const KeptPart& own) { return own.part.number == start.checkpoint.number; });
    node.kept.push_back(whole);
  }
  static const KeptPart* find_part(const ModelNode& node, const CheckpointPart& wanted) {
    for (const auto* const parts : {&node.kept, &node.copies})
      for (const KeptPart& part : *parts)
        if (part.counts && part.part == wanted) return &part;
    return nullptr;
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
        return count(id, order);
      case What::kStage:
        return stage(id, order);
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
      for (auto* const parts : {&node.kept, &node.copies})
        std::erase_if(*parts,
                      [&](const KeptPart& part) { return part.part.number >= order.number; });
      node.kept.push_back({{order.number, node.rank, node.nodes, ++clock_}, node.content});
      answer.done = true;
      answer.taken_unix_ms = clock_;
      answer.changed = node.content != node.counted;
    }
    says(id, answer);
    // A node that refuses without saving says so when its folder is still again.
    if (!answer.done && node.runs && !node.saves) says(id, CheckpointSaid{.what = Said::kSaved});
  }
  void count(const NodeId& id, const CheckpointOrder& order) {
    const int number = order.number;
    ModelNode& node = nodes_[id];
    REQUIRE(std::ranges::count(node.kept, number,
                               [](const KeptPart& part) { return part.part.number; }) == 1);
    for (KeptPart& part : node.kept) {
      if (part.part.number != number) continue;
      part.counts = true;
      part.part.taken_unix_ms = order.taken_unix_ms;
      node.counted = part.content;
      REQUIRE_FALSE(part.content.is_half);
    }
    std::erase_if(node.kept,
                  [&](const KeptPart& part) { return part.part.number < number && !part.counts; });
    for (const PartSource& source : order.copies)
      if (nodes_[source.ticket].is_there && random_.chance(70)) copy(id, source);
  }
  void copy(const NodeId& id, const PartSource& source) {
    ModelNode& node = nodes_[id];
    for (KeptPart given : nodes_[source.ticket].kept) {
      if (given.part.number != source.part.number || given.part.part != source.part.part ||
          given.part.parts != source.part.parts)
        continue;
      given.counts = true;
      given.part = source.part;
      std::erase_if(node.copies,
                    [&](const KeptPart& old) { return old.part.number <= given.part.number; });
      node.copies.push_back(given);
      says(id, CheckpointSaid{.what = Said::kCopied,
                              .number = source.part.number,
                              .part = source.part.part,
                              .done = true});
      return;
    }
  }
  void stage(const NodeId& id, const CheckpointOrder& order) {
    bool done = false;
    for (const auto* const parts : {&nodes_[id].kept, &nodes_[id].copies})
      for (const KeptPart& part : *parts) {
        if (part.part.number != order.number || part.part.part != order.part ||
            part.part.parts != order.parts || !part.counts || random_.chance(disk_fails_))
          continue;
        disk_.staged[part.part.part] = part;
        done = true;
      }
    says(id, CheckpointSaid{
                 .what = Said::kStaged, .number = order.number, .part = order.part, .done = done});
  }
  void move(const NodeId& id, int number, int parts) {
    bool done = !random_.chance(disk_fails_);
    if (done && number != 0 && disk_.number != number) done = disk_.move(number, parts);
    says(id, CheckpointSaid{.what = Said::kWritten, .number = disk_.number, .done = done});
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
  int memory_starts_ = 0;
  int older_starts_ = 0;
  int loaded_ = 0;         // by the last round
  std::set<int> failing_;  // that each time failed alike
  std::int64_t clock_ = 0;
  bool gives_ = false;   // nodes give each other what they hold
  int disk_fails_ = 10;  // in a hundred tries
};

TEST_CASE_METHOD(RandomJob, "whatever happens, what is on disk is one checkpoint of all nodes") {
  int written = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    INFO("seed " << seed);
    gives_ = seed % 4 != 0;
    begin(seed);
    disk_fails_ = random_.chance(50) ? 10 : 0;
    for (int event = 0; event < 300; ++event) one_event();
    check_progress();
    written += disk_.number;
  }
  CHECK(written > 2'000);
  CHECK(memory_starts_ > 2'000);
  CHECK(older_starts_ > 20);
}

}  // namespace
}  // namespace ddprun
