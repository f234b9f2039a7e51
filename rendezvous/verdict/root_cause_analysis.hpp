// RootCauseAnalysis collects how the workers of a round ended, from all nodes, and decides what the
// cause was and what followed from it. docs/report.md has the rules as users see them.
//
// It is passive, like CoordinatorMachine, which owns it: facts and their times in, a verdict out.
// All times are those of the coordinator's Clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// It keeps this many different ends, and as many failures as the next with all their texts.
inline constexpr std::size_t kSuspectsMax = 64;
inline constexpr std::size_t kFailuresMax = 16;

class RootCauseAnalysis {
 public:
  /// A round begins, of which nothing is known yet.
  void begin_round(int round);
  /// The node has these ranks in the round.
  void seat(const NodeId& node, const std::string& host, int first_rank, int workers);

  /// A worker of the round failed.
  void failed(const NodeId& node, const WorkerFailed& report);
  /// All of the node's workers have ended, not all of them well.
  void ended(const NodeId& node, const WorkersEnded& report);
  /// The node is gone, and was heard for the last time at `since`. `in_order`: it left on request.
  void lost(const NodeId& node, const std::string& reason, TimePoint since, bool in_order);
  /// The round is stopped because its workers hang.
  void hung(const HangReport& report);
  /// The workers have hung when a failure stopped the round. They are the cause where that failure
  /// only follows from somebody else's: a collective waits for a limited time only.
  void hung_before(const HangReport& report) { hung_before_ = report; }
  /// A worker of the round has done this step.
  void reached(std::int64_t step) { step_ = std::max(step_, step); }

  /// Decides for the round, once all that is to come has come; nullopt: nothing failed in it. It
  /// remembers the cause, and says when earlier rounds had the same.
  std::optional<Verdict> decide();

  /// The failure of the cause that was decided last, with all that is known of it, for EndJob.
  std::optional<WorkerFailure> failure_of_cause() const { return failure_; }
  /// The node, by its host's name, on which all ranks of that cause were; "": no node alone is to
  /// blame: the round had but one, that one left on request, or its workers' ends follow from
  /// others'.
  const std::string& host_of_cause() const { return host_of_cause_; }

 private:
  struct Suspect {
    WorkerEnd end;
    NodeId node;
    std::string host;
    bool lost = false;      // it is a node
    bool in_order = false;  // it left on request
  };
  struct Seat {
    std::string host;
    std::string ranks;
  };
  struct Root {  // why a round failed
    std::string fingerprint;
    std::int64_t step = -1;
  };

  void add(Suspect suspect);
  static bool is_part_of(const Suspect& other, const Suspect& first);
  static bool is_cause_beside(const Suspect& other, const Suspect& first);
  Suspect* first_suspect();
  Suspect* left_early(const Suspect& first);
  Suspect suspect_of(const HangReport& hang) const;
  Verdict verdict_on(const Suspect& first);
  void follow(Verdict& verdict, const Suspect& other, const Suspect& first) const;
  std::string history_of(const Cause& cause);
  void find_failure(const Suspect& first);
  std::string host_of(const RankList& ranks) const;

  int round_ = 0;
  std::map<NodeId, Seat> seats_;
  std::vector<Suspect> suspects_;
  struct Told {
    NodeId node;
    WorkerFailure failure;
  };
  std::vector<Told> failures_;  // with their texts, the first one first
  std::optional<HangReport> hang_;
  std::optional<HangReport> hung_before_;
  std::int64_t step_ = -1;  // the greatest one in the round
  std::optional<WorkerFailure> failure_;
  std::string host_of_cause_;
  std::vector<Root> roots_;  // rounds that failed one after another with the same root
};

}  // namespace ddprun
