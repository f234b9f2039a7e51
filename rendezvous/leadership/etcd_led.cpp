#include "rendezvous/leadership/etcd_led.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

namespace {

/// With fewer nodes only the new leader itself has seen that the one before is dead.
constexpr std::size_t kWitnessesMin = 3;

}  // namespace

EtcdLed::EtcdLed(const CoordinatorRules& rules)
    : rules_{rules}, term_{rules.terms.heartbeat_timeout} {}

LeadershipActions EtcdLed::step(const LeadershipEvent& event, TimePoint now) {
  now_ = now;
  if (!std::holds_alternative<RoundWanted>(event)) term_.lease.touch();
  const auto with = [&](const NodeId& node, const auto& act) {
    if (Voter* const voter = term_.nodes.find(node)) act(*voter);
  };
  match(
      event, [&](const VoterJoined& e) { joined(e, now); }, [&](const VoterLeft& e) { left(e); },
      [&](const BecameVoter& e) {
        with(e.node, [&](Voter& node) { term_.nodes.make_voter(node); });
      },
      [&](const VoterAway& e) { with(e.node, [](Voter& node) { node.connected = false; }); },
      [&](const VoterBeat& e) {
        with(e.node, [&](Voter& node) { confirm(node, e.beat.echo_us, now); });
      },
      [&](const HigherEpoch& e) { step_down(e); },
      [&](const AgentFollows& e) { followed_ = e.leader; },
      [&](const ElectedByEtcd& e) { elected(e, now); }, [&](const LeaseHeld& e) { term_.held = e; },
      [&](const MembersWritten& e) {
        if (!leads() || e.nodes != term_.wanted) return;
        term_.written = e.nodes;
        term_.written_epoch = term_.epoch;
      },
      [&](const MembersExpired&) { term_.former = {}; },
      [&](const VerdictPublished&) { term_.published = true; },
      [&](const RoundWanted& e) { write_members(e, now); },
      [&](const JobEnded& e) { actions_.push_back(PublishVerdict{e.verdict}); },
      [&](const StepDone& e) { view_ = e.view; }, [](const auto&) {});
  return std::exchange(actions_, {});
}

std::optional<TimePoint> EtcdLed::next_tick() const {
  if (!leads() || view_.runs) return std::nullopt;
  if (!term_.former.nodes.empty() && term_.old_leases_end > now_) return term_.old_leases_end;
  if (term_.lease.look_due() > now_) return term_.lease.look_due();
  return std::nullopt;
}

void EtcdLed::joined(const VoterJoined& event, TimePoint now) {
  const Voter* const before = term_.nodes.find(event.node);
  Voter node = voter_of(event);
  if (before != nullptr) node.stance = before->stance;
  node.confirmed = term_.round.voters > 0 ? TimePoint{} : now;
  term_.old_leases_end =
      std::max(term_.old_leases_end, now + std::chrono::milliseconds{event.state.old_lease_ms});
  Voter& kept = term_.nodes.put(std::move(node));
  if (event.resumed) return;
  if (may_follow(kept)) return admit(kept);
  term_.nodes.set_stance(kept, Stance::kUndecided);
  if (kept.is_voter) actions_.push_back(AwaitVote{kept.id});
  actions_.push_back(TellVoter{kept.id, Candidate{term_.nodes.undecided()}});
}

/// A member may never have heard of the round that it was written down for.
void EtcdLed::admit(Voter& node) {
  term_.nodes.set_stance(node, Stance::kFollows);
  JobCounters counters;
  if (term_.former.nodes.contains(node.id)) {
    counters = node.counters;
    counters.attempt = std::max(counters.attempt, term_.former.attempt);
  }
  actions_.push_back(AdmitVoter{node.id, counters});
}

/// Where it has promised to obey a later leader, it counts for that one.
bool EtcdLed::may_follow(const Voter& node) const {
  return leads() && node.state.promised <= term_.epoch;
}

void EtcdLed::left(const VoterLeft& event) {
  const Voter* const node = term_.nodes.find(event.node);
  if (node == nullptr) return;
  const bool was_in_round = is_member(node->state, term_.round.version);
  if (event.in_order && may_follow(*node) && was_in_round) ++term_.left;
  term_.nodes.remove(event.node);
}

/// A leader whose lease has ended in between gets another one. Unless somebody else has written
/// down members meanwhile, no round has begun.
void EtcdLed::elected(const ElectedByEtcd& event, TimePoint now) {
  const bool own = event.members_epoch == 0 || event.members_epoch == term_.epoch ||
                   event.members_epoch == term_.written_epoch;
  if (leads() && own) {
    if (event.members_epoch > 0) term_.written_epoch = event.members_epoch;
    term_.epoch = event.epoch;
    return;
  }
  if (leads()) step_down({event.epoch, rules_.endpoint});
  term_.epoch = event.epoch;
  term_.former = {event.members_epoch, {event.members.begin(), event.members.end()}, event.attempt};
  if (event.by_death)
    term_.old_leases_end =
        std::max(term_.old_leases_end, now + kEtcdDeathWait.of(rules_.terms.heartbeat_timeout));
  actions_.push_back(TakeOver{{}, event.verdict});
  term_.nodes.for_each([&](Voter& node) {
    if (node.stance == Stance::kUndecided && may_follow(node)) admit(node);
  });
}

void EtcdLed::step_down(const HigherEpoch& by) {
  if (by.epoch <= term_.epoch) return;
  term_ = Term{rules_.terms.heartbeat_timeout};
  actions_.push_back(StepDown{{by.epoch, by.coordinator}});
}

/// A round begins when it is written down who may have workers. Until that is known, it may be what
/// was wanted or what was there before. What is written in place of another leader's members must
/// not come before their end.
void EtcdLed::write_members(const RoundWanted& event, TimePoint now) {
  if (now >= lease_ends() || !former_members_are_gone(now)) return;
  std::vector<NodeId> nodes = event.members();
  std::ranges::sort(nodes);
  if (nodes == term_.written || nodes == term_.wanted) return;
  term_.written.clear();
  term_.wanted = nodes;
  actions_.push_back(WriteMembers{std::move(nodes), event.attempt()});
}

RoundTerms EtcdLed::begin_round(int round, const std::vector<NodeId>& members, TimePoint now) {
  term_.lease.set_until(lease_ends());
  RoundTerms terms{
      .epoch = term_.epoch, .lease_ms = term_.lease.grant_ms(now), .committed = term_.round};
  term_.round = {{term_.epoch, round}, static_cast<int>(members.size()), false};
  term_.left = 0;
  term_.former = {};
  for (std::size_t i = 0; i < members.size(); ++i) {
    Voter& node = *term_.nodes.find(members[i]);
    if (node.state.colocated) terms.leader_rank = static_cast<int>(i);
    node.state.proposed = term_.round;
    node.state.proposed.member = true;
    node.state.proposed.rank = static_cast<int>(i);
    node.state.committed = node.state.proposed;
  }
  return terms;
}

/// As long as etcd says so, and beyond that while all nodes of the round follow: no other begins
/// a round without one of them.
TimePoint EtcdLed::lease_ends() const {
  if (!leads()) return {};
  TimePoint all_follow;
  if (term_.round.voters > 0)
    all_follow = followed_until(term_.nodes, term_.round.version, term_.round.voters - term_.left,
                                rules_.terms.heartbeat_timeout);
  return std::max(term_.held.alone, std::min(term_.held.members, all_follow));
}

/// Whether no worker of the members that somebody else has written down can be alive. A leader that
/// does not reach etcd goes on while all of those members follow it. So one of them has to be here:
/// it says until when the other leader may count on it.
bool EtcdLed::former_members_are_gone(TimePoint now) const {
  const std::set<NodeId>& members = term_.former.nodes;
  if (members.empty()) return true;
  std::size_t here = 0;
  bool leader_is_dead = true;
  bool leader_was_member = false;
  term_.nodes.for_each([&](const Voter& node) {
    if (!node.follows() || !members.contains(node.id)) return;
    ++here;
    if (!node.state.leader_dead || node.state.epoch != term_.former.epoch) leader_is_dead = false;
    if (node.state.leader_is_member) leader_was_member = true;
  });
  if (here == 0) return false;
  if (now >= term_.old_leases_end) return true;
  const std::size_t missing = members.size() - here;
  return members.size() >= kWitnessesMin && leader_is_dead &&
         missing <= (leader_was_member ? 1U : 0U);
}

bool EtcdLed::may(Permission permission, TimePoint now) {
  return term_.lease.looks(now, term_.nodes.size(), [&] {
    if (now >= lease_ends()) return false;
    if (permission == Permission::kBeginRound)
      return former_members_are_gone(now) && !term_.written.empty() &&
             term_.written == term_.wanted;
    return permission != Permission::kFinishRound || term_.nodes.all_connected();
  });
}

bool EtcdLed::has_lost_quorum(TimePoint now) {
  return leads() && term_.lease.is_found_over(now, [&] { return lease_ends(); });
}

Beat EtcdLed::answer(TimePoint now) const {
  return {.clock_us = microseconds(now),
          .committed = term_.round.version.round,
          .epoch = term_.round.version.epoch,
          .committed_nodes = term_.round.voters,
          .lease_ms = term_.lease.grant_ms(now)};
}

Leader EtcdLed::leader() const {
  if (!leads()) return followed_;
  return view_.round > 0 ? Leader{term_.epoch, rules_.endpoint} : Leader{};
}

std::optional<Redirect> EtcdLed::redirect(const Join& join) const {
  return leads() ? std::nullopt : redirect_to(followed_, join);
}

Outlives EtcdLed::outlives(const NodeId& node) const {
  return term_.nodes.can_be_probed(node) ? Outlives::kWhileReachable : Outlives::kNo;
}

bool EtcdLed::all_follow() const {
  int here = 0;
  term_.nodes.for_each([&](const Voter& node) {
    if (node.follows() && is_member(node.state, term_.round.version)) ++here;
  });
  return here >= term_.round.voters - term_.left;
}

bool EtcdLed::knows_last_round(const NodeId& node) const {
  const Voter* const voter = term_.nodes.find(node);
  return voter != nullptr && term_.former.nodes.contains(node) &&
         voter->state.proposed.version.epoch >= term_.former.epoch;
}

}  // namespace ddprun
