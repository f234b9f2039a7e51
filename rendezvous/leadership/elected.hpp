// Elected: the leadership of a job whose nodes vote for a successor when the leader is lost. Pure.
// docs/internals/succession.md says why no two leaders ever both go on.
//
// It is a candidate or the leader. All that belongs to one term, from the first voter that comes to
// when it steps down, is one object.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "rendezvous/leadership/ballot.hpp"
#include "rendezvous/leadership/first_place_start.hpp"
#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/leadership/term.hpp"

namespace ddprun {

/// Pause between two announcements of a new leader to nodes that may take themselves for it.
inline constexpr std::chrono::milliseconds kAnnouncePause{1'000};

class Elected final : public Leadership {
 public:
  explicit Elected(const CoordinatorRules& rules);

  LeadershipActions step(const LeadershipEvent& event, TimePoint now) override;
  std::optional<TimePoint> next_tick() const override;
  bool leads() const override { return term_.leads; }
  std::int64_t epoch() const override { return term_.leads ? term_.epoch : 0; }
  Leader leader() const override;
  std::optional<Redirect> redirect(const Join& join) const override;
  bool may(Permission permission, TimePoint now) override;
  bool has_lost_quorum(TimePoint now) override;
  TimePoint old_leases_end() const override { return term_.former.leases_end(); }
  int nodes_needed(int nodes_min) const override;
  RoundTerms begin_round(int round, const std::vector<NodeId>& members, TimePoint now) override;
  std::vector<Successor> successors() const override { return term_.successors; }
  Configuration committed() const override { return term_.quorum().committed; }
  Beat answer(TimePoint now) const override;
  Outlives outlives(const NodeId& node) const override;
  bool holds_ends() const override { return true; }
  bool knows_last_round(const NodeId& node) const override;
  NodeId extra_voter() const override;

 private:
  void joined(const VoterJoined& event, TimePoint now);
  void left(const VoterLeft& event);
  void hear_undecided(Voter& voter);
  void request_votes(Voter& newcomer);
  void voted(const VoterVoted& event, TimePoint now);
  void take_over(TimePoint now);
  void step_down(const HigherEpoch& by);
  void begin_job();
  void knows(const NodeId& node, const ConfigurationVersion& version);
  void step_done(const RoundView& view, TimePoint now);
  void call_witness(TimePoint now);

  CoordinatorRules rules_;
  Term term_;
  Ballot ballot_;  // outlives a term: no epoch is requested twice
  FirstPlaceStart start_;
  Leader followed_;    // by the agent in this process
  RoundView view_;     // the last one that was reported
  bool over_ = false;  // the job has ended
  TimePoint now_;      // time of the last event
  LeadershipActions actions_;
};

}  // namespace ddprun
