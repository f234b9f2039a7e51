// RoundWatch: watches over the workers of the round that runs. It keeps how far they are, decides
// when they are to be looked at because they seem to hang, and what is then told.
//
// It is passive, as CoordinatorMachine is, which owns it.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <variant>

#include "base/clock.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/progress.hpp"
#include "rendezvous/watch/hang_watch.hpp"
#include "rendezvous/watch/inspection.hpp"
#include "rendezvous/watch/progress_table.hpp"

namespace ddprun {

/// Nodes have this long to say what their workers do; the report is made of what has come by then.
inline constexpr std::chrono::milliseconds kInspectionTimeout{1'500};
/// The second look comes this long after a rank has given up to wait: others that gave up at that
/// time have failed by then, too.
inline constexpr std::chrono::milliseconds kSecondLookAfter{2'000};
/// There is a look at the progress at least this often, and often enough for a short timeout.
inline constexpr std::chrono::milliseconds kLooksEvery{1'000};
inline constexpr std::chrono::milliseconds kLooksEveryMin{50};
inline constexpr int kLooksPerTimeout = 10;

class RoundWatch {
 public:
  RoundWatch(std::chrono::milliseconds hang_timeout, OnHang on_hang)
      : said_{hang_timeout}, on_hang_{on_hang} {}

  /// A round of that many workers begins on these nodes, which can be asked what their workers do.
  void begin_round(int world_size, std::set<NodeId> nodes, TimePoint now);
  void end_round();

  void take(const RankProgress& told, TimePoint now) { table_.take(told, now); }
  void take(const NodeId& node, const Inspected& answer);
  /// A node of the round that can look at its workers is back.
  void add(const NodeId& node);
  void forget(const NodeId& node);

  /// From now to resume() nobody is called hung, as somebody debugs the job, and the time in
  /// between does not count. A hang that was reported before stays until it is over.
  void suspend();
  void resume(TimePoint now);

  struct Ask {  // all nodes
    Inspect question;
  };
  struct Found {
    HangReport report;
  };
  struct Over {
    std::chrono::milliseconds lasted;
  };
  /// Looks when the time has come, and returns what is to be done; usually nothing.
  using Finding = std::variant<std::monostate, Ask, Found, Over>;
  Finding look(int round, TimePoint now);

  /// A worker has failed because it has waited in vain in a collective, and the round will be
  /// stopped. Returns what all nodes are to be asked before, and look() returns what was found when
  /// they have answered. nullopt: no node can be asked, or it is known already.
  std::optional<Inspect> ask_for_missing(int round, int failed_rank, GaveUp gave_up, TimePoint now);

  /// A number that no other inspection of the job has.
  int next_inspection() { return ++inspections_; }

  /// When the next look is due; nullopt while no round runs, or hangs are not watched.
  std::optional<TimePoint> next_look() const { return due_; }

  const ProgressTable& progress() const { return table_; }
  /// The last hang that was reported, while it lasts.
  const std::optional<HangReport>& hang() const { return told_; }

 private:
  Finding look_for_hang(int round, TimePoint now);
  Finding go_on_with_inspection(int round, TimePoint now);
  Finding finish_inspection(TimePoint now);

  const std::chrono::milliseconds said_;
  const OnHang on_hang_;
  ProgressTable table_;
  bool suspended_ = false;
  std::set<NodeId> nodes_;
  int inspections_ = 0;  // so far
  std::optional<TimePoint> due_;
  std::optional<Inspection> inspection_;  // the current one
  std::optional<Suspicion> suspicion_;    // the one that was reported
  std::optional<HangReport> told_;
  TimePoint told_at_;
};

}  // namespace ddprun
