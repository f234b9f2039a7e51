// NodeHistory: which nodes were the cause of failures, and which take part in a round only while
// others are too few: because of that, or because they find themselves unfit.
// docs/restarts.md, "Nodes that fail again and again", has the rules as users see them.
// Pure.
//
// A failure is a strike against the node on which all ranks of its cause were. It is the program's,
// and none, when the same failure was on other nodes as well, unless it was on this one at least
// three times as often as on all of them together.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// A round waits this long for what is remembered elsewhere before it begins.
inline constexpr std::chrono::milliseconds kRecallTimeout{2'000};

/// A node was the cause of a round's failure.
struct NodeFailure {
  std::string host;  // its name for people
  TimePoint at;
  FailureKind kind = FailureKind::kExitCode;
  std::string fingerprint;  // as Cause's
  std::string run_id;       // the job's
  std::string sentence;     // for people: one line
  bool operator==(const NodeFailure&) const = default;
};

class NodeHistory {
 public:
  explicit NodeHistory(const NodePolicy& policy) : policy_{policy} {}

  /// Whether strikes are counted at all.
  bool counts() const { return policy_.strikes > 0; }

  /// A round of this job has failed because of a node.
  void add(NodeFailure failure);

  /// Asks for what is remembered elsewhere, of other jobs, too. Returns the number of the question;
  /// nullopt: nothing is to be asked.
  std::optional<int> begin_recall(TimePoint now);
  /// That is the answer to that question, with what was added here before it. nullopt: nothing is
  /// remembered but here. An answer that comes after the next question counts no more.
  void recalled(int question, std::optional<std::vector<NodeFailure>> failures);
  /// Until when no round begins because of that question; nullopt: nothing is waited for.
  std::optional<TimePoint> awaited_until(TimePoint now) const;

  /// How many strikes each node has, by its host's name, within the window that ends at `now`.
  std::map<std::string, int> strikes(TimePoint now) const;

  /// Takes down at each node what is against it at `now`.
  void judge(Roster& nodes, TimePoint now);
  /// Does so at one that has come since, or has looked at itself.
  void judge(Roster& nodes, Roster::Node& node) const;

 private:
  std::string objection_to(const Roster::Node& node) const;

  NodePolicy policy_;
  std::vector<NodeFailure> failures_;   // at most kNodeFailuresMax
  std::map<std::string, int> strikes_;  // when nodes were judged last
  int questions_ = 0;                   // so far
  std::optional<TimePoint> recalled_by_;
};

/// The note on the round that has just begun: which nodes it leaves out because of objections, and
/// which take part all the same; "": there are none.
std::string note_on_nodes(const Roster& nodes);

}  // namespace ddprun
