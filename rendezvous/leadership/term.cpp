#include "rendezvous/leadership/term.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/leadership/ballot.hpp"

namespace ddprun {

int votes_needed(const Term& term, const Configuration& configuration, int left) {
  const int voters = configuration.voters;
  return (term.former.elected() ? votes_to_win(voters) : votes_to_stay(voters)) - left;
}

TimePoint quorum_ends(const Term& term) {
  const JointQuorum& quorum = term.quorum();
  if (!quorum.exists()) return TimePoint::max();
  const auto ends = [&](const Configuration& configuration, int left) {
    return followed_until(term.voters, configuration.version,
                          votes_needed(term, configuration, left), term.timeout);
  };
  const TimePoint committed = ends(quorum.committed, term.left);
  const bool needs_both = term.former.elected() && quorum.is_joint();
  return needs_both ? std::min(committed, ends(quorum.proposed, 0)) : committed;
}

bool has_quorum(const Term& term, TimePoint now) { return now < quorum_ends(term); }

std::vector<Successor> successors_among(const Term& term, const std::vector<NodeId>& members) {
  std::vector<Successor> successors;
  for (std::size_t rank = 0; rank < members.size() && successors.size() < kSuccessorsMax; ++rank) {
    const Voter* const voter = term.voters.find(members[rank]);
    if (voter != nullptr && !voter->standby.empty() && !voter->state.colocated)
      successors.push_back({voter->standby, static_cast<int>(rank)});
  }
  return successors;
}

JobCounters counters_of_voters(const Term& term) {
  JobCounters most;
  term.voters.for_each([&](const Voter& voter) {
    if (voter.state.proposed.version.round == 0) return;
    most.round = std::max(most.round, voter.counters.round);
    most.attempt = std::max(most.attempt, voter.counters.attempt);
  });
  return most;
}

void admit(Term& term, Voter& voter, LeadershipActions& actions) {
  term.voters.set_stance(voter, Stance::kFollows);
  actions.push_back(AdmitVoter{voter.id});
}

void revise(Term& term, const NodeId& extra, LeadershipActions& actions) {
  Configuration round{term.quorum().proposed.version, term.round_nodes + (extra.empty() ? 0 : 1),
                      false};
  ++round.version.revision;
  term.extra.change(term.voters.find(extra));
  const std::string awaited = term.commitment.awaited(term.voters);
  const Voter* const own = term.voters.find(term.colocated);
  const bool leader_is_member = own != nullptr && own->rank >= 0;
  term.commitment.propose(round, term.voters);
  term.voters.for_each([&](Voter& voter) {
    if (!voter.follows()) return;
    Configuration& known = voter.state.proposed;
    known.member = voter.rank >= 0 || voter.id == extra;
    if (known.member) known.rank = voter.rank >= 0 ? voter.rank : term.round_nodes;
    Reconfigure message{.round = known,
                        .witnessed = !extra.empty() && !term.extra.is_spare(),
                        .leader_is_member = leader_is_member,
                        .spare_votes = term.extra.is_spare()};
    message.round.awaited = awaited;
    actions.push_back(TellVoter{voter.id, std::move(message)});
  });
}

void become_candidate(Term& term, LeadershipActions& actions) {
  term.leads = false;
  term.epoch = 0;
  term.voters.for_each([&](Voter& voter) {
    if (!voter.follows()) return;
    term.voters.set_stance(voter, Stance::kUndecided);
    actions.push_back(AwaitVote{voter.id});
  });
}

Leader leader_lost(const Term& term) {
  Leader leader;
  term.voters.for_each([&](const Voter& voter) {
    if (knows_a_round(voter.state)) leader.epoch = std::max(leader.epoch, voter.state.promised);
  });
  return leader;
}

bool is_deserted(const Term& term) {
  const int nodes = term.quorum().committed.voters - (term.extra.voting().empty() ? 0 : 1);
  return term.leads && !term.extra.witness().empty() && term.voters.size() == 1 &&
         term.left >= nodes;
}

bool wants_witness(const Term& term, const std::vector<std::string>& places) {
  if (places.size() < 2 || !term.extra.witness().empty()) return false;
  return term.leads || (term.quorum().exists() && !term.colocated.empty());
}

InviteWitness invitation(const Term& term, const CoordinatorRules& rules, int round) {
  const Voter* const own = term.leads ? nullptr : term.voters.find(term.colocated);
  return {rules.run_id, term.leads ? term.epoch : 0,
          std::max(round, term.quorum().proposed.version.round),
          own != nullptr ? own->standby : term.endpoint, rules.terms.join_timeout.count()};
}

bool choose_extra_voter(Term& term, const RoundView& round, TimePoint now,
                        LeadershipActions& actions) {
  ExtraVoter& extra = term.extra;
  if (!round.runs || !extra.is_due(now)) return false;
  const bool none_waits = round.spares == 0;
  const NodeId wanted =
      extra.wanted(term.round_nodes, term.voters, none_waits ? FirstSpare{} : round.first_spare);
  const bool stays = wanted == extra.voting();
  if (stays && (none_waits || !wanted.empty())) return false;
  const bool all_here = round.members >= term.round_nodes && term.voters.all_connected();
  if (stays || !all_here || !has_quorum(term, now)) {
    extra.put_off(term.timeout, now);
    return false;
  }
  revise(term, wanted, actions);
  return true;
}

bool nodes_elect_alone(const Term& term) {
  const JointQuorum& quorum = term.quorum();
  const Votes votes = votes_of(
      term.voters, quorum, [](const Voter& voter) { return voter.follows() && !voter.witness; });
  const bool needs_both = term.former.elected() && quorum.is_joint();
  return votes.committed >= votes_needed(term, quorum.committed, term.left) &&
         (!needs_both || votes.proposed >= votes_needed(term, quorum.proposed, 0));
}

bool witness_knows_round(const Term& term) {
  return term.extra.witness().empty() || !term.quorum().is_joint() || nodes_elect_alone(term);
}

}  // namespace ddprun
