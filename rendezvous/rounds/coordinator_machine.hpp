// CoordinatorMachine decides for one job what its coordinator does: which nodes form a round, when
// it begins and stops, and how the job ends.
//
// It only wires. Membership decides who may take part, Leadership whether this process coordinates
// the job, Rounds when a round begins and stops, Failures what failing workers do to it, JobEnding
// how nodes are let go; Observers look on. Each event goes to the parts that it concerns, in a
// fixed order, and their actions come out. docs/internals/architecture.md has a picture.
//
// It is passive: it has no socket, no thread and no clock. Job hands it each event with the time at
// which it happened, and performs the actions that it returns, so a test can replay a day in a
// microsecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/failures.hpp"
#include "rendezvous/rounds/job_checkpoints.hpp"
#include "rendezvous/rounds/job_ending.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/membership.hpp"
#include "rendezvous/rounds/node_history.hpp"
#include "rendezvous/rounds/observers.hpp"
#include "rendezvous/rounds/rounds.hpp"

namespace ddprun {

class CoordinatorMachine {
 public:
  /// A job that begins to wait for its nodes at `now`.
  CoordinatorMachine(CoordinatorRules rules, TimePoint now);
  CoordinatorMachine(const CoordinatorMachine&) = delete;

  /// Takes an event that has happened at `now`, and returns what is to be done. `now` never goes
  /// back from one call to the next.
  std::vector<CoordinatorAction> step(const CoordinatorEvent& event, TimePoint now);

  /// Sets the store's port, which is known only after the rules when the system has chosen it.
  void serve_store_at(int port) { rules_.master_port = port; }

  /// When the next Tick is due; nullopt while only events from nodes can change anything.
  std::optional<TimePoint> next_tick() const;

  bool ended() const { return ending_.is_complete(); }
  /// Its epoch; 0: it coordinates nothing, or has no possible successor.
  std::int64_t epoch() const { return leadership_->epoch(); }
  /// The job's leader, as far as it is known here: this coordinator, if it has begun a round.
  Leader leader() const { return leadership_->leader(); }
  bool has_nodes() const { return !members_.nodes().empty(); }
  const CoordinatorRules& rules() const { return rules_; }
  const Observers& observers() const { return observers_; }
  /// How the job is at `now`, when the time of day is `now_unix_ms`. It takes as long as there are
  /// nodes and ranks.
  JobStatus status(TimePoint now, std::int64_t now_unix_ms) const;

 private:
  using Node = Roster::Node;
  using Phase = Roster::Phase;

  // Nodes come and go.
  void receive(const FromPeer& event);
  void join(PeerId peer, const Join& join, const std::string& address);
  void come_back(Node& node, PeerId peer, const Join& join);
  void hold(PeerId peer, const Join& join, const std::string& address);
  void take_back(PeerId peer, const Join& join, const std::string& address);
  void greet(const Node& node, bool resumed);
  void admit(const AdmitVoter& admitted);
  void welcome(Node& node);
  void disconnected(Node& node, const std::string& reason);
  void lose(Node& node, const std::string& reason, TimePoint since, bool in_order = false);

  // What they say.
  void answer(Node& node, const Beat& beat);
  void failed(Node& node, const WorkerFailed& report);
  void preempt(Node& node, const Preempt& report);

  // What follows.
  void lead(const LeadershipEvent& event);
  void take_over(const TakeOver& how);
  void step_down(const Leader& leader);
  void advance();
  void look_for_hangs();
  void end(EndJob verdict);

  CoordinatorRules rules_;
  std::unique_ptr<Leadership> leadership_;
  Membership members_;
  JobState job_;
  Failures failures_;
  NodeHistory history_;
  Observers observers_;
  JobEnding ending_;
  Outbox out_;
  InPlace in_place_;
  JobCheckpoints checkpoints_{members_.nodes(), rules_, job_, out_};
  Rounds rounds_;
  std::string last_loss_;  // why the job may be short of nodes, for the user
  TimePoint now_;          // time of the current step
};

}  // namespace ddprun
