// CheckpointsFixture gives tests of JobCheckpoints their words: a job whose nodes keep the
// checkpoints of their program together, and what each is ordered to do for that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rendezvous/rounds/job_checkpoints.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {

using namespace std::chrono_literals;

class CheckpointsFixture : protected RoundFixture {
 protected:
  using Said = CheckpointSaid::What;
  using Texts = std::vector<std::string>;

  CheckpointsFixture() { now_ += 1h; }

  static JobTerms terms_of(int nodes_min, int nodes_max) {
    return {.nodes_min = nodes_min,
            .nodes_max = nodes_max,
            .restarts_max = 9,
            .last_call_timeout = 0ms,
            .checkpoints = true};
  }
  /// The nodes a, b, c of that job are in their first round, and nothing was on disk.
  void runs(int nodes) {
    job(terms_of(1, nodes));
    for (int node = 0; node < nodes; ++node) {
      nodes_.push_back(std::string(1, static_cast<char>('a' + node)));
      joins(nodes_.back());
    }
    for (const NodeId& node : nodes_) holds(node, {});
    wrote("a", 0);
    for (const NodeId& node : nodes_) REQUIRE(start(node).checkpoint.number == 0);
    hear_all();
  }

  // What a node says.
  void holds(const NodeId& node, std::vector<CheckpointPart> parts, int written = 0,
             bool ended_well = false) {
    says(node, HeldCheckpoints{.parts = std::move(parts),
                               .written = written,
                               .ended_well = ended_well,
                               .room = room_,
                               .port = port_,
                               .ticket = "ticket of " + node});
  }
  void saved(const NodeId& node) { says(node, CheckpointSaid{.what = Said::kSaved}); }
  void kept(const NodeId& node, int number, bool changed = true, Texts removed = {}) {
    says(node, CheckpointSaid{.what = Said::kKept,
                              .number = number,
                              .done = true,
                              .changed = changed,
                              .removed = std::move(removed)});
  }
  void refuses(const NodeId& node, int number) {
    says(node, CheckpointSaid{.what = Said::kKept, .number = number});
  }
  void staged(const NodeId& node, int number, bool done = true) {
    staged(node, number, part_of(node), done);
  }
  void staged(const NodeId& node, int number, int part, bool done) {
    says(node, CheckpointSaid{.what = Said::kStaged, .number = number, .part = part, .done = done});
  }
  void copied(const NodeId& node, int number, int part, bool done = true) {
    says(node, CheckpointSaid{.what = Said::kCopied, .number = number, .part = part, .done = done});
  }
  void wrote(const NodeId& node, int number, bool done = true) {
    says(node, CheckpointSaid{.what = Said::kWritten, .number = number, .done = done});
  }
  void all_keep(int number) {
    saved("a");
    for (const NodeId& node : nodes_) kept(node, number);
  }
  void all_stage(int number) {
    for (const NodeId& node : nodes_) staged(node, number);
  }
  /// All nodes save, and it comes to disk.
  void all_write(int number) {
    all_keep(number);
    all_stage(number);
    wrote("a", number);
    hear_all();
  }
  /// The worker of that node fails, and all have stopped.
  void stops_after_failure_of(const NodeId& node) {
    const auto failing = static_cast<int>(std::ranges::find(nodes_, node) - nodes_.begin());
    fails(node, 1, failing);
    passes(kCausePatience);
    for (const NodeId& other : nodes_) says(other, WorkersStopped{1});
  }
  void all_finish(int round = 1) {
    for (const NodeId& node : nodes_) {
      holds(node, {}, 0, true);
      says(node, WorkersFinished{round});
    }
  }

  /// Its part in the first round.
  static int part_of(const NodeId& node) { return node.front() - 'a'; }

  /// What the node was ordered, since the last call.
  Texts told(const NodeId& node) {
    Texts texts;
    for (const CheckpointOrder& order : orders<CheckpointOrder>(node))
      texts.push_back(text_of_order(order));
    return texts;
  }
  void hear_all() {
    for (const NodeId& node : nodes_) told(node);
  }
  static std::string text_of_order(const CheckpointOrder& order) {
    using What = CheckpointOrder::What;
    const std::string number = " " + std::to_string(order.number);
    std::string removed;
    for (const std::string& path : order.removed) removed += " -" + path;
    for (const PartSource& copy : order.copies)
      removed += " copy " + std::to_string(copy.part.part) + " with the " + copy.ticket;
    switch (order.what) {
      case What::kKeep:
        return "keep" + number + (order.at_end ? " at end" : "");
      case What::kCounts:
        return "counts" + number + removed;
      case What::kStage:
        return "stage" + number;
      case What::kMove:
        return order.number == 0 ? "look" : "move" + number + " of " + std::to_string(order.parts);
      case What::kWritten:
        return "written" + number;
    }
    return "";
  }

  std::vector<NodeId> nodes_;
  int port_ = 0;           // nodes give what they hold there; 0: they do not
  std::int64_t room_ = 0;  // for other nodes' files
};

}  // namespace ddprun
