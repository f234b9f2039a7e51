#include "rendezvous/leadership/follower.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

using std::chrono::milliseconds;

VoterState Follower::told(TimePoint now) const {
  VoterState state = state_;
  const auto left = std::chrono::duration_cast<milliseconds>(counted_until_ - now);
  state.old_lease_ms = std::max(left, milliseconds{0}).count();
  std::string gone = format_number_list({gone_.begin(), gone_.end()});
  if (gone.size() <= kRankListBytesMax) state.dead_ranks = std::move(gone);
  return state;
}

bool Follower::knows_a_round() const {
  return state_.epoch > 0 && state_.proposed.version.round > 0;
}

bool Follower::accepts(const Joined& answer) const {
  if (answer.epoch == 0) return state_.epoch == 0;
  return answer.epoch >= std::max(state_.epoch, state_.promised);
}

void Follower::follow(const Joined& answer, const std::string& endpoint) {
  if (answer.epoch == 0) return;
  state_.epoch = answer.epoch;
  state_.promised = std::max(state_.promised, answer.epoch);
  state_.leader = endpoint;
  state_.leader_dead = false;
}

bool Follower::promise(std::int64_t epoch, TimePoint now) {
  if (epoch <= state_.promised) return false;
  state_.promised = epoch;
  repeated_ = now;  // the vote repeats the candidate's clock
  return true;
}

bool Follower::is_counted(milliseconds heartbeat_timeout, TimePoint now) const {
  return now < counted_until_ - (kOldLease - kFollowerCounts).of(heartbeat_timeout);
}

void Follower::find_leader_gone(bool counted) {
  state_.leader_dead = counted;
  const bool of_this_round = state_.epoch == state_.proposed.version.epoch;
  if (of_this_round && leader_rank_ >= 0) find_member_gone(leader_rank_);
}

void Follower::hear(const StartRound& round) {
  if (round.epoch == 0) return;
  state_.epoch = round.epoch;
  note_round(
      {{round.epoch, round.round}, round.group_world_size, true, round.group_rank, round.awaited},
      round.committed);
  leader_rank_ = round.leader_rank;
  state_.leader_is_member = round.leader_rank >= 0;
}

void Follower::hear(const Spare& round) {
  if (round.epoch == 0) return;
  note_round({{round.epoch, round.round}, round.nodes, false}, round.committed);
  leader_rank_ = -1;  // it is not told
  state_.leader_is_member = false;
}

/// Others vote in the last round that it knows, or in one of which it hears only now.
void Follower::hear(const Reconfigure& round) {
  if (round.round.version > state_.proposed.version) state_.proposed = round.round;
  state_.leader_is_member = round.leader_is_member;
}

/// All nodes of a round know of it. A node that came after it had begun learns it here, and also
/// that the job is not a new one.
void Follower::hear(const Beat& beat) {
  state_.spares = beat.spares;
  if (beat.committed == 0) return;
  const ConfigurationVersion committed{beat.epoch, beat.committed, beat.revision};
  if (state_.proposed.version == committed)
    commit(state_.proposed);
  else if (beat.committed_nodes > 0 && state_.proposed.version < committed)
    commit(Configuration{.version = committed, .voters = beat.committed_nodes});
}

void Follower::note_assignment(const StartRound& round) {
  state_.assignment = {round.round,      round.group_world_size, round.group_rank, round.first_rank,
                       round.world_size, round.master_port,      round.vacant};
}

/// Only the version of the committed configuration and its number of voters are sent: whether it
/// was a member, it knows itself. One that was none has to know of it, too: without its members
/// no leader is elected. A spare that joins again gets its round again, and may vote in a later
/// revision of that.
void Follower::note_round(const Configuration& proposed, Configuration committed) {
  const Configuration before = state_.proposed;
  if (proposed.version > before.version) {
    state_.proposed = proposed;
    gone_.clear();
  }
  committed.member = false;
  committed.rank = -1;
  for (const Configuration& known : {before, proposed})
    if (known.version == committed.version) {
      committed.member = known.member;
      committed.rank = known.rank;
    }
  commit(committed);
}

void Follower::commit(const Configuration& round) {
  if (round.version > state_.committed.version) state_.committed = round;
}

void Follower::hear_clock(std::int64_t clock_us, TimePoint now) {
  if (clock_us <= 0) return;
  clock_us_ = clock_us;
  clock_heard_ = now;
}

Beat Follower::beat(TimePoint now) {
  const ConfigurationVersion& version = state_.proposed.version;
  repeated_ = clock_heard_;
  return {.clock_us = microseconds(now),
          .echo_us = clock_us_,
          .round = version.round,
          .epoch = version.epoch,
          .revision = version.revision};
}

void Follower::part(milliseconds heartbeat_timeout) {
  if (repeated_ > TimePoint{})
    counted_until_ = std::max(counted_until_, repeated_ + kOldLease.of(heartbeat_timeout));
  clock_us_ = 0;
  clock_heard_ = repeated_ = {};
}

}  // namespace ddprun
