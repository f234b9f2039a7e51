#include "rendezvous/service/witness_machine.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

using std::chrono::milliseconds;

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
  follower_ = {};
  end_.reset();
  over_ = false;
}

void WitnessMachine::join(TimePoint now) {
  say(Join{.node = id_,
           .incarnation = ++joins_,
           .counters = known_,
           .host = host_,
           .voter = follower_.told(now),
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
      [&](const RequestVote& m) {
        if (follower_.promise(m.epoch, now)) say(Vote{m.epoch, m.clock_us});
      },
      [&](const Beat& m) {
        follower_.hear_clock(m.clock_us, now);
        follower_.hear(m);
      },
      [&](const Waiting& m) { follower_.hear_clock(m.clock_us, now); },
      [&](const Spare& m) {
        known_.attempt = std::max(known_.attempt, m.attempt);
        follower_.hear(m);
        note_round(m.round);
        beat(now);
      },
      [&](const Reconfigure& m) {
        follower_.hear(m);
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
  if (answer.epoch == 0 || !follower_.accepts(answer)) return hang_up(now);
  follower_.follow(answer, contact_->coordinator);
  heartbeat_timeout_ = milliseconds{answer.heartbeat_timeout_ms};
  contact_->voting_until.reset();
  follower_.hear_clock(answer.clock_us, now);
  beat(now);  // so that it knows that it is heard
}

void WitnessMachine::note_round(int round) {
  known_.round = std::max(known_.round, round);
  end_.reset();
  over_ = false;
}

/// If the coordinator is lost now, the next one is informed how the job has ended.
void WitnessMachine::end(const EndJob& how) {
  end_ = how;
  end_->held = false;
  over_ = !how.held;
  if (how.held) say(EndAcknowledged{});
}

void WitnessMachine::beat(TimePoint now) {
  if (follower_.state().leader != contact_->coordinator) return;  // it is none that is obeyed
  say(follower_.beat(now));
  contact_->beat_due = now + kBeat.of(heartbeat_timeout_);
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
  follower_.part(heartbeat_timeout_);
  contact_.reset();
  alone_since_ = now;
}

Leader WitnessMachine::leader(TimePoint now) const {
  if (over_ || known_.round == 0) return {};
  const VoterState& voter = follower_.state();
  if (contact_ && contact_->beat_due) return {voter.epoch, voter.leader};
  const bool soon = now < alone_since_ + kWitnessMemory * heartbeat_timeout_;
  return contact_ || soon ? Leader{voter.epoch, ""} : Leader{0, voter.leader};
}

bool WitnessMachine::is_forgotten(TimePoint now) const {
  return !contact_ && now >= alone_since_ + std::min(join_timeout_, kWitnessKeeps);
}

void WitnessMachine::say(AgentMessage message) {
  actions_.push_back(SayTo{contact_->peer, std::move(message)});
}

}  // namespace ddprun
