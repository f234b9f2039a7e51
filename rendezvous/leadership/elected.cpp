#include "rendezvous/leadership/elected.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/match.hpp"

namespace ddprun {

namespace {

std::vector<std::string> other_places(const CoordinatorRules& rules) {
  if (rules.places.empty()) return {};
  return {rules.places.begin() + 1, rules.places.end()};
}

/// Where somebody may take himself for the leader: those of before are there, and at the job's
/// endpoint, and its places, one may have been started again.
std::vector<std::string> endpoints_to_tell(const Term& term, const CoordinatorRules& rules) {
  std::set<std::string> endpoints{rules.places.begin(), rules.places.end()};
  endpoints.insert(rules.endpoint);
  term.voters.for_each([&](const Voter& voter) { endpoints.insert(voter.state.leader); });
  endpoints.erase("");
  endpoints.erase(term.endpoint);
  return {endpoints.begin(), endpoints.end()};
}

/// Whether the voter takes orders from this leader, as it is. A leader that has no round yet and
/// meets a node of one is a later one of that job: it needs votes like every candidate.
bool may_follow(const Term& term, const VoterState& voter) {
  const bool of_another_round = !term.quorum().exists() && knows_a_round(voter);
  return term.leads && voter.promised <= term.epoch && !of_another_round;
}

}  // namespace

Elected::Elected(const CoordinatorRules& rules)
    : rules_{rules},
      term_{rules.terms.heartbeat_timeout},
      start_{rules.begins == Begins::kAsking, other_places(rules), rules.terms.heartbeat_timeout} {
  term_.endpoint = rules_.endpoint;
  term_.leads = rules_.begins == Begins::kLeading;
  term_.epoch = term_.leads ? 1 : 0;
}

LeadershipActions Elected::step(const LeadershipEvent& event, TimePoint now) {
  now_ = now;
  if (!std::holds_alternative<RoundWanted>(event)) term_.lease.touch();
  const auto with = [&](const NodeId& node, const auto& act) {
    if (Voter* const voter = term_.voters.find(node)) act(*voter);
  };
  match(
      event, [&](const VoterJoined& e) { joined(e, now); }, [&](const VoterLeft& e) { left(e); },
      [&](const BecameVoter& e) {
        with(e.node, [&](Voter& voter) { term_.voters.make_voter(voter); });
        ballot_.recount();
      },
      [&](const VoterAway& e) { with(e.node, [](Voter& voter) { voter.connected = false; }); },
      [&](const VoterBeat& e) {
        knows(e.node, {e.beat.epoch, e.beat.round, e.beat.revision});
        with(e.node, [&](Voter& voter) { confirm(voter, e.beat.echo_us, now); });
      },
      [&](const VoterAware& e) { knows(e.node, term_.quorum().proposed.version); },
      [&](const VoterVoted& e) { voted(e, now); },
      [&](const WitnessAnswered&) { term_.extra.answered(term_.voters); },
      [&](const HigherEpoch& e) { step_down(e); },
      [&](const AgentFollows& e) { followed_ = e.leader; },
      [&](const LeadersFound& e) {
        if (start_.hear(e.leader, e.all, now)) begin_job();
      },
      [&](const GatheringBegun&) {
        term_.gathers = true;
        term_.former.gather(now);
      },
      [&](const RoundWanted& e) {
        if (term_.extra.witness().empty()) return;
        const bool alone = !term_.quorum().exists() || nodes_elect_alone(term_);
        auto told = term_.extra.tell_attempt(e.attempt(), alone, view_.round, term_.voters);
        if (told) actions_.push_back(TellVoter{term_.extra.witness(), std::move(*told)});
      },
      [&](const JobEnded&) { over_ = true; }, [&](const StepDone& e) { step_done(e.view, now); },
      [](const ElectedByEtcd&) {}, [](const LeaseHeld&) {}, [](const MembersWritten&) {},
      [](const MembersExpired&) {}, [](const VerdictPublished&) {});
  return std::exchange(actions_, {});
}

std::optional<TimePoint> Elected::next_tick() const {
  std::optional<TimePoint> next = start_.next_question();
  const auto consider = [&](std::optional<TimePoint> t) {
    if (t) next = next ? std::min(*next, *t) : t;
  };
  if (term_.leads && term_.gathers) {
    consider(term_.former.next_change(now_));
    if (term_.lease.look_due() > now_) consider(term_.lease.look_due());
  }
  if (!over_ && wants_witness(term_, rules_.places)) consider(term_.extra.next_invitation());
  if (term_.leads && !term_.announced.empty()) consider(term_.announce_due);
  return next;
}

// --- elections ---

/// The Join may be old. That does no harm as long as there are no voters who could elect another.
void Elected::joined(const VoterJoined& event, TimePoint now) {
  const Voter* const before = term_.voters.find(event.node);
  Voter voter = voter_of(event);
  voter.confirmed = term_.quorum().exists() ? TimePoint{} : now;
  if (before != nullptr) {
    voter.aware = before->aware;
    voter.stance = before->stance;
    voter.rank = before->rank;
  }
  Voter& kept = term_.voters.put(std::move(voter));
  if (kept.state.colocated) term_.colocated = kept.id;
  if (kept.witness) term_.extra.take(kept.id);
  term_.former.hear(kept.state, now);
  ballot_.recount();
  if (event.resumed) return;
  if (!may_follow(term_, kept.state)) return hear_undecided(kept);
  admit(term_, kept, actions_);
}

/// A leaving node gives up its vote, unless it promised a later epoch: that vote may count
/// elsewhere.
void Elected::left(const VoterLeft& event) {
  const Voter* const voter = term_.voters.find(event.node);
  if (voter == nullptr) return;
  const bool gives_up_vote = event.in_order && may_follow(term_, voter->state) &&
                             is_member(voter->state, term_.quorum().committed.version);
  if (gives_up_vote) ++term_.left;
  term_.commitment.lose(*voter);
  if (voter->id == term_.colocated) term_.colocated.clear();
  term_.extra.leave(voter->id);
  term_.voters.remove(event.node);
  ballot_.recount();
  if (event.in_order && is_deserted(term_))
    actions_.push_back(TellVoter{term_.extra.witness(), Dismiss{}});
}

void Elected::hear_undecided(Voter& voter) {
  if (voter.is_voter) {
    term_.voters.set_stance(voter, Stance::kUndecided);
    actions_.push_back(AwaitVote{voter.id});
  }
  const bool newborn = term_.leads && !term_.quorum().exists();
  if (knows_a_round(voter.state)) start_.give_up();
  if (newborn && knows_a_round(voter.state)) become_candidate(term_, actions_);
  actions_.push_back(TellVoter{voter.id, Candidate{term_.voters.undecided()}});
  ballot_.hear(voter.state.promised);
  const ConfigurationVersion committed_before = term_.quorum().committed.version;
  if (term_.commitment.hear(voter.state)) ballot_.recount();
  if (term_.quorum().committed.version != committed_before) term_.left = 0;  // a new round
  ballot_.count_present(voter, term_.voters, term_.quorum());
  request_votes(voter);
}

/// Requests votes as soon as there are enough who could give one: of all of them at first, and then
/// of each that comes. One that has promised more to somebody else makes the epoch a higher one.
void Elected::request_votes(Voter& newcomer) {
  const bool can_be_elected =
      term_.quorum().exists() ? term_.quorum().elects(ballot_.present()) : term_.leads;
  if (!can_be_elected) return;
  const auto request = [&](Voter& voter) {
    if (std::exchange(voter.asked, ballot_.requested()) == ballot_.requested()) return;
    actions_.push_back(TellVoter{voter.id, RequestVote{ballot_.requested(), microseconds(now_)}});
  };
  if (!ballot_.is_stale(term_.epoch)) return request(newcomer);
  ballot_.raise(term_.epoch);
  term_.voters.for_each(request);
}

void Elected::voted(const VoterVoted& event, TimePoint now) {
  Voter* const voter = term_.voters.find(event.node);
  const bool counts = voter != nullptr && event.vote.epoch == ballot_.requested() &&
                      voter->asked == ballot_.requested();
  if (!counts) return;
  voter->granted = voter->state.promised = event.vote.epoch;
  confirm(*voter, event.vote.echo_us, now);
  if (term_.epoch == ballot_.requested()) {
    if (voter->stance == Stance::kUndecided) admit(term_, *voter, actions_);
    return;
  }
  ballot_.count_granted(*voter, term_.voters, term_.quorum());
  const bool nobody_votes_yet = term_.leads && !term_.quorum().exists();
  if (nobody_votes_yet || term_.quorum().elects(ballot_.granted())) take_over(now);
}

/// Now no node can be elected with a smaller epoch, and the former leader has lost the majority.
void Elected::take_over(TimePoint now) {
  const JointQuorum& quorum = term_.quorum();
  term_.epoch = ballot_.requested();
  const bool abandons = quorum.is_joint() && ballot_.granted().unaware > 0 &&
                        ballot_.granted().proposed < votes_to_win(quorum.proposed.voters);
  const bool led_all_the_time = term_.leads && now < term_.lease.until();
  if (!led_all_the_time || abandons) term_.former.begin(abandons);
  if (abandons) {
    term_.commitment.abandon_proposal();
    ballot_.recount();
  }
  if (!std::exchange(term_.leads, true)) {
    if (const Voter* const own = term_.voters.find(term_.colocated)) term_.endpoint = own->standby;
    term_.announced = endpoints_to_tell(term_, rules_);
    actions_.push_back(TakeOver{counters_of_voters(term_)});
  }
  term_.voters.for_each([&](Voter& voter) {
    if (voter.granted == term_.epoch && voter.stance == Stance::kUndecided)
      admit(term_, voter, actions_);
  });
}

/// Somebody leads the job with the votes of more than half of the nodes. A candidate is disturbed
/// only by a leader that is later than all whom its voters have promised something.
void Elected::step_down(const HigherEpoch& by) {
  const std::int64_t known = term_.leads ? term_.epoch : ballot_.highest();
  if (by.epoch <= known) return;
  start_.give_up();
  term_ = Term{rules_.terms.heartbeat_timeout};
  term_.endpoint = rules_.endpoint;
  ballot_.recount();
  actions_.push_back(StepDown{{by.epoch, by.coordinator}});
}

void Elected::begin_job() {
  term_.leads = true;
  term_.epoch = 1;
  actions_.push_back(TakeOver{});
  std::vector<NodeId> waiting;
  term_.voters.for_each([&](const Voter& voter) {
    if (voter.stance == Stance::kUndecided) waiting.push_back(voter.id);
  });
  for (const NodeId& id : waiting) {
    Voter& voter = *term_.voters.find(id);
    if (may_follow(term_, voter.state))
      admit(term_, voter, actions_);
    else
      request_votes(voter);
  }
}

// --- the round ---

/// Before the first round no node could elect another leader. Its lease goes by the followers that
/// it has itself.
RoundTerms Elected::begin_round(int round, const std::vector<NodeId>& members, TimePoint now) {
  const bool is_first = !term_.quorum().exists();
  term_.lease.set_until(quorum_ends(term_));
  RoundTerms terms{.epoch = term_.epoch,
                   .lease_ms = term_.lease.grant_ms(now),
                   .committed = term_.quorum().committed,
                   .awaited = term_.commitment.awaited(term_.voters),
                   .successors = successors_among(term_, members),
                   .leader_rank = rank_among(members, term_.colocated)};
  term_.successors = terms.successors;
  term_.successor_ids.clear();
  for (const Successor& successor : terms.successors)
    term_.successor_ids.push_back(members[static_cast<std::size_t>(successor.rank)]);
  term_.round_nodes = static_cast<int>(members.size());
  term_.gathers = false;
  term_.extra.begin_round();
  term_.commitment.propose({{term_.epoch, round}, term_.round_nodes, false}, term_.voters);
  ballot_.recount();
  term_.voters.for_each([](Voter& voter) { voter.rank = -1; });
  for (std::size_t i = 0; i < members.size(); ++i) {
    Voter& voter = *term_.voters.find(members[i]);
    voter.rank = voter.state.proposed.rank = static_cast<int>(i);
    voter.state.proposed.member = true;
  }
  if (is_first) {
    term_.lease.set_until(quorum_ends(term_));
    terms.lease_ms = term_.lease.grant_ms(now);
  }
  return terms;
}

/// A voter has reported the last configuration that it got. If that one is committed by this, all
/// voters that know it are informed.
void Elected::knows(const NodeId& node, const ConfigurationVersion& version) {
  Voter* const voter = term_.voters.find(node);
  if (voter == nullptr || !term_.commitment.knows(*voter, version)) return;
  ballot_.recount();
  term_.former.end();
  term_.left = 0;
  term_.voters.for_each([&](const Voter& other) {
    if (other.state.proposed.version == version)
      actions_.push_back(TellVoter{other.id, answer(now_)});
  });
}

void Elected::step_done(const RoundView& view, TimePoint now) {
  if (std::exchange(view_, view).spares != view.spares)
    for (const NodeId& id : term_.successor_ids) actions_.push_back(TellVoter{id, answer(now_)});
  if (const auto endpoints = start_.ask(now)) actions_.push_back(AskLeaders{*endpoints});
  if (!over_) {
    call_witness(now);
    if (choose_extra_voter(term_, view_, now, actions_)) ballot_.recount();
  }
  if (term_.leads && !term_.announced.empty() && now >= term_.announce_due) {
    term_.announce_due = now + kAnnouncePause;
    actions_.push_back(AnnounceLeader{term_.epoch, term_.endpoint, term_.announced});
  }
}

/// Invites a witness, and drops one that is not needed: the last node that had a vote here has
/// gone.
void Elected::call_witness(TimePoint now) {
  ExtraVoter& extra = term_.extra;
  if (!term_.leads && !extra.witness().empty() && term_.voters.size() == 1)
    actions_.push_back(DropWitness{extra.witness(), "no other node votes here"});
  const bool wanted = wants_witness(term_, rules_.places);
  if (extra.invites(wanted, term_.leads, now))
    actions_.push_back(
        InviteWitnesses{other_places(rules_), invitation(term_, rules_, view_.round)});
}

// --- answers ---

bool Elected::may(Permission permission, TimePoint now) {
  const VoterTable& voters = term_.voters;
  const bool begins = permission == Permission::kBeginRound;
  if (begins && term_.former.may_come(voters, term_.quorum(), rules_.terms.nodes_max, now))
    return false;
  if (permission == Permission::kFinishRound && !term_.voters.all_connected()) return false;
  const bool holds = term_.lease.looks(now, voters.size(), [&] {
    return has_quorum(term_, now) && (!begins || term_.former.is_over(voters, term_.quorum(), now));
  });
  if (!holds) return false;
  const bool ends = permission == Permission::kFinishRound || permission == Permission::kEndJob;
  return begins ? term_.extra.knows_attempt(voters) : !ends || witness_knows_round(term_);
}

bool Elected::has_lost_quorum(TimePoint now) {
  return term_.leads && term_.lease.is_found_over(now, [&] { return quorum_ends(term_); });
}

int Elected::nodes_needed(int nodes_min) const {
  const JointQuorum& quorum = term_.quorum();
  if (!quorum.exists()) return nodes_min;
  return std::max(nodes_min, votes_needed(term_, quorum.committed, term_.left) -
                                 term_.voters.witnesses_following());
}

Beat Elected::answer(TimePoint now) const {
  const Configuration& committed = term_.quorum().committed;
  return {.clock_us = microseconds(now),
          .committed = committed.version.round,
          .epoch = committed.version.epoch,
          .revision = committed.version.revision,
          .committed_nodes = committed.voters,
          .lease_ms = term_.lease.grant_ms(now),
          .spares = std::max(view_.spares - (term_.extra.is_spare() ? 1 : 0), 0)};
}

Leader Elected::leader() const {
  if (!term_.leads) return followed_.epoch > 0 ? followed_ : leader_lost(term_);
  return view_.round > 0 ? Leader{term_.epoch, term_.endpoint} : Leader{};
}

std::optional<Redirect> Elected::redirect(const Join& join) const {
  return term_.leads ? std::nullopt : redirect_to(followed_, join);
}

Outlives Elected::outlives(const NodeId& node) const {
  return term_.voters.can_be_probed(node) ? Outlives::kWhileReachable : Outlives::kNo;
}

bool Elected::knows_last_round(const NodeId& node) const {
  const Voter* const voter = term_.voters.find(node);
  return voter != nullptr && term_.former.elected() &&
         voter->state.proposed.version == term_.quorum().proposed.version;
}

NodeId Elected::extra_voter() const {
  return term_.quorum().is_joint() ? NodeId{} : term_.extra.voting();
}

}  // namespace ddprun
