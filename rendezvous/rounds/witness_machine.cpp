#include "rendezvous/rounds/witness_machine.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/standing_notes.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

constexpr int kBeats = 5;  // in a heartbeat timeout, as agents do

}  // namespace

std::vector<WitnessAction> WitnessMachine::invited(WitnessPeer by, const InviteWitness& invitation,
                                                   TimePoint now) {
  if (hears_another(invitation, now)) {
    const Leader other = leader(now);
    actions_.push_back(SendAway{by, {other.coordinator, other.epoch}});
    return std::exchange(actions_, {});
  }
  if (contact_) hang_up(now);
  if (invitation.epoch > 0 && invitation.round == 0) forget();
  join_timeout_ = milliseconds{invitation.join_timeout_ms};
  contact_ = Contact{by, invitation.coordinator, now};
  join(now);
  return std::exchange(actions_, {});
}

/// The coordinator that it obeys may come over a new connection before the end of the old one is
/// noticed.
bool WitnessMachine::hears_another(const InviteWitness& invitation, TimePoint now) const {
  return contact_ && contact_->coordinator != invitation.coordinator && now < silence_ends();
}

/// A job begins that has no round yet. All that was known was of one with the same name, whose
/// coordinator is not heard. In that one there is no such witness any more.
void WitnessMachine::forget() {
  id_ = fresh_id_();
  known_ = {};
  voter_ = {};
  end_.reset();
  over_ = false;
  counted_until_ = {};
}

void WitnessMachine::join(TimePoint now) {
  VoterState voter = voter_;
  const auto counted = std::chrono::duration_cast<milliseconds>(counted_until_ - now);
  voter.old_lease_ms = std::max(counted, milliseconds{0}).count();
  say(Join{.node = id_,
           .incarnation = ++joins_,
           .counters = known_,
           .host = host_,
           .voter = std::move(voter),
           .witness = true});
}

std::vector<WitnessAction> WitnessMachine::told(WitnessPeer by, const CoordinatorMessage& message,
                                                TimePoint now) {
  if (!contact_ || contact_->peer != by) return {};
  contact_->last_heard = now;
  obey(message, now);
  return std::exchange(actions_, {});
}

void WitnessMachine::obey(const CoordinatorMessage& message, TimePoint now) {
  match(
      message,  //
      [&](const Joined& m) { joined(m, now); },
      [&](const Candidate&) {
        if (end_) say(FinalStatus{*end_});
        if (!contact_->voting_until) contact_->voting_until = now + kWitnessPatience;
      },
      [&](const RequestVote& m) { promise(m, now); },
      [&](const Beat& m) {
        hear_clock(m.clock_us, now);
        note_settled(voter_, m);
      },
      [&](const Waiting& m) { hear_clock(m.clock_us, now); },
      [&](const Spare& m) {
        known_.attempt = std::max(known_.attempt, m.attempt);
        ddprun::note_round(voter_, {{m.epoch, m.round}, m.nodes, false}, m.committed);
        note_round(m.round);
        beat(now);
      },
      [&](const Reconfigure& m) {
        note_voters(voter_, m.round);
        voter_.leader_is_member = m.leader_is_member;
        note_round(m.round.version.round);
        beat(now);
      },
      [&](const StopRound& m) {
        known_.attempt = std::max(known_.attempt, m.attempt);
        say(WorkersStopped{m.round});
      },
      [&](const EndJob& m) { end(m); }, [&](const Dismiss&) { over_ = true; },
      [&](const Redirect&) { hang_up(now); }, [&](const Refused&) { hang_up(now); },
      [](const auto&) {});  // orders to nodes with workers
}

void WitnessMachine::joined(const Joined& answer, TimePoint now) {
  if (answer.epoch == 0 || !may_lead(voter_, answer)) return hang_up(now);
  voter_.epoch = answer.epoch;
  voter_.promised = std::max(voter_.promised, answer.epoch);
  voter_.leader = contact_->coordinator;
  heartbeat_timeout_ = milliseconds{answer.heartbeat_timeout_ms};
  contact_->voting_until.reset();
  hear_clock(answer.clock_us, now);
  beat(now);  // so that it knows that it is heard
}

void WitnessMachine::promise(const RequestVote& order, TimePoint now) {
  if (order.epoch <= voter_.promised) return;
  voter_.promised = order.epoch;
  contact_->echoed = now;
  say(Vote{order.epoch, order.clock_us});
}

void WitnessMachine::hear_clock(std::int64_t clock_us, TimePoint now) {
  if (clock_us <= 0) return;
  contact_->its_clock_us = clock_us;
  contact_->its_clock_heard = now;
}

void WitnessMachine::note_round(int round) {
  known_.round = std::max(known_.round, round);
  end_.reset();
  over_ = false;
}

/// When the coordinator is lost now, the next one is told how the job has ended.
void WitnessMachine::end(const EndJob& how) {
  end_ = how;
  end_->held = false;
  over_ = !how.held;
  if (how.held) say(EndAcknowledged{});
}

void WitnessMachine::beat(TimePoint now) {
  if (voter_.leader != contact_->coordinator) return;  // it is none that is obeyed
  const ConfigurationVersion& name = voter_.proposed.version;
  say(Beat{.clock_us = microseconds(now),
           .echo_us = contact_->its_clock_us,
           .round = name.round,
           .epoch = name.epoch,
           .revision = name.revision});
  contact_->beat_due = now + heartbeat_timeout_ / kBeats;
  contact_->echoed = contact_->its_clock_heard;
}

std::vector<WitnessAction> WitnessMachine::lost(WitnessPeer peer, TimePoint now) {
  if (contact_ && contact_->peer == peer) part(now);
  return std::exchange(actions_, {});
}

std::vector<WitnessAction> WitnessMachine::tick(TimePoint now) {
  if (contact_ && now >= silence_ends()) hang_up(now);
  if (contact_ && contact_->beat_due && now >= *contact_->beat_due) beat(now);
  return std::exchange(actions_, {});
}

TimePoint WitnessMachine::silence_ends() const {
  if (contact_->voting_until) return *contact_->voting_until;
  return contact_->last_heard + heartbeat_timeout_;
}

std::optional<TimePoint> WitnessMachine::next_tick() const {
  if (!contact_) return std::nullopt;
  const TimePoint silence = silence_ends();
  return contact_->beat_due ? std::min(*contact_->beat_due, silence) : silence;
}

void WitnessMachine::hang_up(TimePoint now) {
  actions_.push_back(HangUpOn{contact_->peer});
  part(now);
}

/// The coordinator may count on this vote for a while yet.
void WitnessMachine::part(TimePoint now) {
  if (contact_->echoed > TimePoint{})
    counted_until_ = std::max(counted_until_, contact_->echoed + heartbeat_timeout_ * 11 / 10);
  contact_.reset();
  alone_since_ = now;
}

Leader WitnessMachine::leader(TimePoint now) const {
  if (over_ || known_.round == 0) return {};
  if (contact_ && contact_->beat_due) return {voter_.epoch, voter_.leader};
  const bool soon = now < alone_since_ + kWitnessMemory * heartbeat_timeout_;
  return contact_ || soon ? Leader{voter_.epoch, ""} : Leader{0, voter_.leader};
}

bool WitnessMachine::is_forgotten(TimePoint now) const {
  return !contact_ && now >= alone_since_ + std::min(join_timeout_, kWitnessKeeps);
}

void WitnessMachine::say(AgentMessage message) {
  actions_.push_back(SayTo{contact_->peer, std::move(message)});
}

}  // namespace ddprun
