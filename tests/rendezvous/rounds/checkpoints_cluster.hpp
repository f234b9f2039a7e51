// CheckpointsCluster: three nodes, a coordinator and a disk, of which a test sees all. Whatever is
// done or ordered, what must hold is required at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/rounds/job_checkpoints.hpp"
#include "tests/rendezvous/rounds/checkpoints_judge.hpp"
#include "tests/rendezvous/rounds/checkpoints_model.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/simulation/random.hpp"

namespace ddprun {

using namespace std::chrono_literals;

class CheckpointsCluster : protected RoundFixture {
 protected:
  using Said = CheckpointSaid::What;
  static constexpr int kNodes = 3;
  static constexpr std::int64_t kPartBytes = 1;

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
    judge_ = {};
    // A seed does the same whichever comes before it.
    coordinators_ = 1;
    clock_ = 0;
    disk_fails_ = 0;
    for (int node = 0; node < kNodes; ++node) comes(name_of(node));
    answer_all();
  }

  static NodeId name_of(int node) { return std::string(1, static_cast<char>('a' + node)); }

  // --- what nodes do ---

  void comes(const NodeId& id) {
    ModelNode& node = nodes_[id];
    const auto kept = node.kept;  // memory outlives an agent
    const auto copies = node.copies;
    const auto had = node.had;
    node = {.is_there = true, .incarnation = node.incarnation + 1, .kept = kept, .copies = copies};
    node.had = had;
    std::erase_if(node.kept, [](const KeptPart& part) { return !part.counts; });
    node.written = disk_.number;
    Join join = join_of(id);
    join.incarnation = node.incarnation;
    says(id, join);
    tell_held(id);
  }
  /// Its agent has begun again, before anybody found its connection dead.
  void comes_again(const NodeId& id) {
    if (random_.chance(50)) nodes_[id].lose_memory();
    comes(id);
  }
  void tell_held(const NodeId& id) {
    ModelNode& node = nodes_[id];
    node.room = random_.chance(80) ? kNodes : random_.number(-1, 0);
    HeldCheckpoints held{.parts = {},
                         .written = node.written,
                         .ended_well = node.ended_well,
                         .room = node.room,
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
    if (with_memory) node.lose_memory();
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
  /// Its workers have all ended with code 0.
  void finishes(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there || !node.runs) return;
    if (node.saves) ends_save(id);
    node.runs = false;
    node.ended_well = true;
    says(id, WorkersFinished{node.round});
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
    judge_ = {};
    job(rules_);
    for (auto& [id, node] : nodes_)
      if (std::exchange(node.is_there, false)) comes(id);
  }

  // --- what they are ordered ---

  /// What a node says to an order may be followed by orders for others.
  void collect_all() {
    bool is_news = true;
    while (std::exchange(is_news, false)) {
      // A node gives a part that counts although it has not heard so yet: here it has.
      for (auto& [id, node] : nodes_) is_news |= collect_orders(id);
      for (auto& [id, node] : nodes_) is_news |= collect(id);
    }
    forget_what_was_done();
  }
  bool collect_orders(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there) return false;
    const auto all = orders<CheckpointOrder>(id);
    for (const CheckpointOrder& order : all) {
      judge_.judge(node, order, now_);
      if (order.what == CheckpointOrder::What::kCounts)
        count(id, order);
      else
        node.orders.push_back(order);
    }
    return !all.empty();
  }
  bool collect(const NodeId& id) {
    ModelNode& node = nodes_[id];
    if (!node.is_there) return false;
    const auto stop = order<StopRound>(id);
    const auto start = order<StartRound>(id);
    const bool stops_first = stop && start && stop->round < start->round;
    if (stops_first) stops(id, *stop);
    if (start) starts(id, *start);
    if (stop && !stops_first) stops(id, *stop);
    if (order<Refused>(id) || dropped(id)) node.is_there = false;
    return stop || start;
  }
  void stops(const NodeId& id, const StopRound& stop) {
    ModelNode& node = nodes_[id];
    node.end_workers();
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
    judge_.begin_round(start.round);
    node.runs = true;
    node.ended_well = node.saves = false;
    node.round = start.round;
    node.rank = start.group_rank;
    node.nodes = start.group_world_size;
    if (start.checkpoint.sources.empty()) node.written = disk_.number;
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
    std::set<int> lacking;
    for (const PartSource& source : start.checkpoint.sources) {
      ModelNode& giver = nodes_[source.ticket];
      REQUIRE(source.part.number == start.checkpoint.number);
      const KeptPart* const given = find_part(giver, source.part);
      REQUIRE(given != nullptr);
      parts.emplace(source.part.part, *given);
      if (find_part(node, source.part) == nullptr) lacking.insert(source.part.part);
    }
    REQUIRE(static_cast<int>(parts.size()) == start.checkpoint.sources.front().part.parts);
    REQUIRE(static_cast<int>(lacking.size()) * kPartBytes <= node.room);
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
    node.note_had(whole.part);
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
    const bool may = order.at_end ? node.nodes > 0 : node.runs || node.ended_well;
    if (may && !node.saves && (order.at_end || random_.chance(95))) {
      for (auto* const parts : {&node.kept, &node.copies})
        std::erase_if(*parts,
                      [&](const KeptPart& part) { return part.part.number >= order.number; });
      node.kept.push_back(
          {{order.number, node.rank, node.nodes, ++clock_, kPartBytes}, node.content});
      answer.done = true;
      answer.taken_unix_ms = clock_;
      answer.bytes = kPartBytes;
      if (random_.chance(10)) answer.removed.push_back(id + std::to_string(clock_));
      answer.changed = node.content != node.counted;
    }
    judge_.kept(id, answer, order.at_end);
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
      node.note_had(part.part);
      REQUIRE_FALSE(part.content.is_half);
    }
    std::erase_if(node.kept,
                  [&](const KeptPart& part) { return part.part.number < number && !part.counts; });
    if (node.kept.size() > kPartsHeldMax) node.kept.erase(node.kept.begin());
    REQUIRE(order.copies.size() == (gives_ && node.nodes > 1 ? 1 : 0));
    for (const PartSource& source : order.copies) {
      REQUIRE(source.ticket != id);
      if (!nodes_[source.ticket].is_there || random_.chance(30) || !copy(id, source))
        says(id, CheckpointSaid{.what = Said::kCopied, .number = number, .part = source.part.part});
    }
  }
  bool copy(const NodeId& id, const PartSource& source) {
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
      node.note_had(given.part);
      says(id, CheckpointSaid{.what = Said::kCopied,
                              .number = source.part.number,
                              .part = source.part.part,
                              .done = true});
      return true;
    }
    return false;
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
    if (done) judge_.staged(order);
    says(id, CheckpointSaid{
                 .what = Said::kStaged, .number = order.number, .part = order.part, .done = done});
  }
  void move(const NodeId& id, int number, int parts) {
    bool done = !random_.chance(disk_fails_);
    if (done && number != 0 && disk_.number != number) {
      done = disk_.move(number, parts);
      if (done && nodes_[id].runs && !failing_.contains(number)) judge_.wrote(number, loaded_);
    }
    says(id, CheckpointSaid{.what = Said::kWritten, .number = disk_.number, .done = done});
  }

  // --- progress ---

  void beat() {
    for (auto& [id, node] : nodes_)
      if (node.is_there) says(id, Beat{});
  }
  /// Long enough for what is tried again.
  void long_passes() {
    for (int seconds = 0; seconds < 35; ++seconds) {
      passes(1s);
      beat();
    }
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

  simulation::Random random_{1};
  std::map<NodeId, ModelNode> nodes_;
  ModelDisk disk_;
  CheckpointsJudge judge_;
  int coordinators_ = 1;
  std::uint64_t memory_starts_ = 0;
  std::uint64_t older_starts_ = 0;
  int loaded_ = 0;         // by the last round
  std::set<int> failing_;  // that each time failed alike
  std::int64_t clock_ = 0;
  bool gives_ = false;   // nodes give each other what they hold
  int disk_fails_ = 10;  // in a hundred tries
};

}  // namespace ddprun
