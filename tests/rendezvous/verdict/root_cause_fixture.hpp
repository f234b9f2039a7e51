// Gives the tests of RootCauseAnalysis their words: how the workers of three nodes end.
#pragma once

#include <csignal>

#include "rendezvous/verdict/consequences.hpp"
#include "rendezvous/verdict/root_cause_analysis.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

/// Three nodes, h0 to h2, with two ranks each.
class Round {
 public:
  Round() { begin(); }

  void begin(std::int64_t step = -1) {
    told_.clear();
    analysis_.begin_round(++round_);
    for (int node = 0; node < 3; ++node)
      analysis_.seat(name(node), "h" + std::to_string(node), 2 * node, 2);
    if (step >= 0) analysis_.reached(step);
  }

  void ends(int rank, std::int64_t ms, WorkerEnd end) {
    end.ranks = std::to_string(rank);
    end.began_us = end.ended_us = ms * 1000;
    told_[rank / 2].push_back(std::move(end));
  }
  void raises(int rank, std::int64_t ms, const std::string& type, Blame blame = Blame::kOwn) {
    WorkerEnd end{.kind = FailureKind::kException, .blame = blame, .status = {.code = 1}};
    end.fault = {type, "message", "/home/me/train.py", 88, "step"};
    ends(rank, ms, std::move(end));
  }
  void exits(int rank, std::int64_t ms, int code) {
    ends(rank, ms, {.blame = Blame::kOwn, .status = {.code = code}});
  }
  void follows(int rank, std::int64_t ms, Consequence what) {
    WorkerEnd end{.kind = FailureKind::kException, .blame = Blame::kFollows, .status = {.code = 1}};
    end.consequence = what;
    end.says = text_of(what);
    end.fault.type = "RuntimeError";
    ends(rank, ms, std::move(end));
  }
  void is_stopped(int rank, std::int64_t ms) {
    ends(rank, ms, {.kind = FailureKind::kSignal, .status = {.signal = SIGTERM}});
  }
  /// All workers of the node have ended well, after this step.
  void has_done(int node, std::int64_t step) {
    analysis_.ended(name(node), WorkersEnded{round_, step, {}});
  }
  void node_is_lost(int node, std::int64_t ms, bool in_order = false) {
    analysis_.lost(name(node), "silent for 5 s", TimePoint{std::chrono::milliseconds{ms}},
                   in_order);
  }
  /// At once, before it tells of all ends of the node.
  void agent_tells(int rank, std::int64_t ms, int code,
                   Consequence consequence = Consequence::kNone) {
    WorkerFailed report{round_, {.host = "h", .rank = rank, .status = {.code = code}}};
    report.end = {.ranks = std::to_string(rank), .blame = Blame::kOwn, .status = {.code = code}};
    report.end.began_us = report.end.ended_us = ms * 1000;
    report.end.consequence = consequence;
    if (consequence != Consequence::kNone) report.end.blame = Blame::kFollows;
    analysis_.failed(name(rank / 2), report);
  }

  Verdict verdict() {
    auto found = decide();
    REQUIRE(found);
    return *found;
  }
  std::optional<Verdict> decide() {
    for (const auto& [node, ends] : told_)
      analysis_.ended(name(node), WorkersEnded{round_, -1, ends});
    return analysis_.decide();
  }
  RootCauseAnalysis& analysis() { return analysis_; }

 private:
  static NodeId name(int node) { return "node" + std::to_string(node); }
  RootCauseAnalysis analysis_;
  int round_ = 0;
  std::map<int, std::vector<WorkerEnd>> told_;
};

}  // namespace ddprun
