// EtcdLed: the leadership of a job where an etcd says who coordinates it: when a round of this
// leader's may begin, and for how long it may go on. Pure. docs/internals/succession.md, section
// "etcd chooses the leader", says why no two leaders ever both go on.
//
// No node votes. Before a round begins, etcd has written down its members: the nodes that may have
// workers. A leader that cannot reach etcd goes on while all of them follow it.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "rendezvous/leadership/leader_lease.hpp"
#include "rendezvous/leadership/leadership.hpp"

namespace ddprun {

class EtcdLed final : public Leadership {
 public:
  explicit EtcdLed(const CoordinatorRules& rules);

  LeadershipActions step(const LeadershipEvent& event, TimePoint now) override;
  std::optional<TimePoint> next_tick() const override;
  bool leads() const override { return term_.epoch > 0; }
  std::int64_t epoch() const override { return term_.epoch; }
  Leader leader() const override;
  std::optional<Redirect> redirect(const Join& join) const override;
  bool may(Permission permission, TimePoint now) override;
  bool has_lost_quorum(TimePoint now) override;
  TimePoint old_leases_end() const override { return term_.old_leases_end; }
  RoundTerms begin_round(int round, const std::vector<NodeId>& members, TimePoint now) override;
  Configuration committed() const override { return term_.round; }
  Beat answer(TimePoint now) const override;
  Outlives outlives(const NodeId& node) const override;
  bool holds_ends() const override { return true; }
  bool remembers_end() const override { return term_.published; }
  bool all_follow() const override;
  bool knows_last_round(const NodeId& node) const override;

 private:
  /// Nodes that may have workers, as a leader has written.
  struct Members {
    std::int64_t epoch = 0;  // that leader's; 0: of none
    std::set<NodeId> nodes;  // empty: no node has workers by that
    int attempt = 0;         // the first round with them has it
  };
  struct Term {
    explicit Term(std::chrono::milliseconds heartbeat_timeout) : lease{heartbeat_timeout} {}
    std::int64_t epoch = 0;  // 0: this process does not lead
    VoterTable nodes;
    Configuration round;  // the last one that was begun here
    int left = 0;         // nodes of that round that have left for good
    LeaderLease lease;
    LeaseHeld held{};                // the last news from etcd
    Members former;                  // written by another leader
    std::int64_t written_epoch = 0;  // with which this leader has written its members last
    std::vector<NodeId> written;     // the list in etcd now; none: that is not known
    std::vector<NodeId> wanted;      // the list that is to be written
    bool published = false;          // etcd knows how the job has ended
    TimePoint old_leases_end;        // leases of former leaders, as far as nodes know
  };

  void joined(const VoterJoined& event, TimePoint now);
  void admit(Voter& node);
  bool may_follow(const Voter& node) const;
  void left(const VoterLeft& event);
  void elected(const ElectedByEtcd& event, TimePoint now);
  void step_down(const HigherEpoch& by);
  void write_members(const RoundWanted& event, TimePoint now);
  TimePoint lease_ends() const;
  bool former_members_are_gone(TimePoint now) const;

  CoordinatorRules rules_;
  Term term_;
  Leader followed_;  // by the agent in this process
  RoundView view_;   // the last one that was reported
  TimePoint now_;    // time of the last event
  LeadershipActions actions_;
};

}  // namespace ddprun
