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

std::vector<WitnessAction> WitnessMachine::invited(WitnessPeer by, const BeWitness& invitation,
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
bool WitnessMachine::hears_another(const BeWitness& invitation, TimePoint now) const {
  return contact_ && contact_->coordinator != invitation.coordinator && now < silence_ends();
}

/// A job begins that has no round yet. All that was known was of one with the same name, whose
/// coordinator is not heard. In that one there is no such witness any more.
void WitnessMachine::forget() {
  id_ = fresh_id_();
  known_ = {};
  standing_ = {};
  end_.reset();
  over_ = false;
  counted_until_ = {};
}

void WitnessMachine::join(TimePoint now) {
  Standing standing = standing_;
  const auto counted = std::chrono::duration_cast<milliseconds>(counted_until_ - now);
  standing.fence_ms = std::max(counted, milliseconds{0}).count();
  say(Join{.node = id_,
           .incarnation = ++joins_,
           .known = known_,
           .host = host_,
           .standing = std::move(standing),
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
      [&](const Voting&) {
        if (end_) say(Testament{*end_});
        if (!contact_->voting_until) contact_->voting_until = now + kWitnessPatience;
      },
      [&](const Elect& m) { promise(m, now); },
      [&](const Beat& m) {
        hear_clock(m.clock_us, now);
        note_settled(standing_, m);
      },
      [&](const Waiting& m) { hear_clock(m.clock_us, now); },
      [&](const Spare& m) {
        known_.attempt = std::max(known_.attempt, m.attempt);
        ddprun::note_round(standing_, {{m.epoch, m.round}, m.nodes, false}, m.settled);
        note_round(m.round);
        beat(now);
      },
      [&](const Voters& m) {
        note_voters(standing_, m.round);
        standing_.head_seated = m.head_seated;
        note_round(m.round.name.round);
        beat(now);
      },
      [&](const StopRound& m) {
        known_.attempt = std::max(known_.attempt, m.attempt);
        say(WorkersStopped{m.round});
      },
      [&](const EndJob& m) { end(m); }, [&](const Dismissed&) { over_ = true; },
      [&](const Elsewhere&) { hang_up(now); }, [&](const Refused&) { hang_up(now); },
      [](const auto&) {});  // orders to nodes with workers
}

void WitnessMachine::joined(const Joined& answer, TimePoint now) {
  if (answer.epoch == 0 || !may_lead(standing_, answer)) return hang_up(now);
  standing_.epoch = answer.epoch;
  standing_.promised = std::max(standing_.promised, answer.epoch);
  standing_.head = contact_->coordinator;
  heartbeat_timeout_ = milliseconds{answer.heartbeat_timeout_ms};
  contact_->voting_until.reset();
  hear_clock(answer.clock_us, now);
  beat(now);  // so that it knows that it is heard
}

void WitnessMachine::promise(const Elect& order, TimePoint now) {
  if (order.epoch <= standing_.promised) return;
  standing_.promised = order.epoch;
  contact_->echoed = now;
  say(Promise{order.epoch, order.clock_us});
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
  if (how.held) say(EndHeard{});
}

void WitnessMachine::beat(TimePoint now) {
  if (standing_.head != contact_->coordinator) return;  // it is none that is obeyed
  const RoundName& name = standing_.started.name;
  say(Beat{.clock_us = microseconds(now),
           .echo_us = contact_->its_clock_us,
           .round = name.round,
           .epoch = name.epoch,
           .edition = name.edition});
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
  if (contact_ && contact_->beat_due) return {standing_.epoch, standing_.head};
  const bool soon = now < alone_since_ + kWitnessMemory * heartbeat_timeout_;
  return contact_ || soon ? Leader{standing_.epoch, ""} : Leader{0, standing_.head};
}

bool WitnessMachine::is_forgotten(TimePoint now) const {
  return !contact_ && now >= alone_since_ + std::min(join_timeout_, kWitnessKeeps);
}

void WitnessMachine::say(AgentMessage message) {
  actions_.push_back(SayTo{contact_->peer, std::move(message)});
}

}  // namespace ddprun
