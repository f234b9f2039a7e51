#include "rendezvous/rounds/node_history.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/number_text.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

namespace {

constexpr int kNodesNoted = 4;
/// The clocks of nodes differ by less. What is later was written by a clock that is wrong, and
/// would count for ever.
constexpr std::chrono::hours kClocksApartMax{1};
/// A failure that this node has this many times as often as all others together is its own.
constexpr int kTimesAsOften = 3;

/// A failure that the program may have brought itself is compared with those of other nodes.
bool is_comparable(const NodeFailure& failure) {
  return failure.kind != FailureKind::kNodeLost && !failure.fingerprint.empty();
}

}  // namespace

void NodeHistory::add(NodeFailure failure) {
  if (failures_.size() >= kNodeFailuresMax) failures_.erase(failures_.begin());
  failures_.push_back(std::move(failure));
}

std::optional<int> NodeHistory::begin_recall(TimePoint now) {
  if (!counts()) return std::nullopt;
  recalled_by_ = now + kRecallTimeout;
  return ++questions_;
}

void NodeHistory::recalled(int question, std::optional<std::vector<NodeFailure>> failures) {
  if (question != questions_) return;
  recalled_by_.reset();
  if (!failures) return;
  failures_ = std::move(*failures);
  std::ranges::sort(failures_, {}, &NodeFailure::at);
  if (failures_.size() > kNodeFailuresMax)
    failures_.erase(failures_.begin(), failures_.end() - kNodeFailuresMax);
}

std::optional<TimePoint> NodeHistory::awaited_until(TimePoint now) const {
  return recalled_by_ && now < *recalled_by_ ? recalled_by_ : std::nullopt;
}

std::map<std::string, int> NodeHistory::strikes(TimePoint now) const {
  const TimePoint since = now - std::chrono::milliseconds{policy_.window_ms};
  const auto counts_now = [&](const NodeFailure& failure) {
    return failure.at >= since && failure.at <= now + kClocksApartMax;
  };
  std::map<std::string, int> strikes;
  std::map<std::string, std::map<std::string, int>> alike;  // by fingerprint, then by host
  for (const NodeFailure& failure : failures_)
    if (counts_now(failure))
      ++(is_comparable(failure) ? alike[failure.fingerprint] : strikes)[failure.host];
  for (const auto& [fingerprint, hosts] : alike) {
    int all = 0;
    for (const auto& [host, count] : hosts) all += count;
    for (const auto& [host, count] : hosts)
      if (count >= kTimesAsOften * (all - count)) strikes[host] += count;
  }
  return strikes;
}

void NodeHistory::judge(Roster& nodes, TimePoint now) {
  if (counts()) strikes_ = strikes(now);
  nodes.for_each([&](Roster::Node& node) { judge(nodes, node); });
}

void NodeHistory::judge(Roster& nodes, Roster::Node& node) const {
  nodes.object(node, objection_to(node));
}

std::string NodeHistory::objection_to(const Roster::Node& node) const {
  if (!node.join.unfit.empty()) return node.join.unfit;
  const auto found = strikes_.find(node.join.host);
  if (found == strikes_.end() || found->second < policy_.strikes) return "";
  return "caused " + counted(found->second, "failure") + " within " + span_text(policy_.window_ms) +
         " (--node-strikes " + std::to_string(policy_.strikes) + ")";
}

std::string note_on_nodes(const Roster& nodes) {
  std::set<std::string> notes;  // agents of one host share theirs
  nodes.for_each([&](const Roster::Node& node) {
    const bool takes_part = node.is_in_round();
    if (node.objection().empty() || !(takes_part || node.phase() == Roster::Phase::kReady)) return;
    notes.insert((takes_part ? "with node " : "without node ") + node.join.host + ", which " +
                 node.objection() + (takes_part ? ": too few others are there" : ""));
  });
  std::string text;
  int noted = 0;
  for (const std::string& note : notes)
    if (++noted <= kNodesNoted) text += (text.empty() ? "" : "; ") + note;
  if (noted > kNodesNoted) text += "; and " + std::to_string(noted - kNodesNoted) + " more";
  return text;
}

}  // namespace ddprun
