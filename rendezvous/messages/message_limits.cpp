#include "rendezvous/messages/message_limits.hpp"

#include <limits>
#include <string>
#include <string_view>

#include "base/endpoint.hpp"
#include "base/match.hpp"
#include "rendezvous/messages/job_terms_fields.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

/// Checks one thing after the other, and keeps the first error.
class Checker {
 public:
  /// `where` is appended to errors, as " on h1".
  explicit Checker(std::string where = "") : where_{std::move(where)} {}

  Checker& number(std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most) {
    if (value < least || value > most)
      fail(std::string{name} + " is " + std::to_string(value) + where_ + ": " +
           std::to_string(least) + " to " + std::to_string(most) + " was expected");
    return *this;
  }
  Checker& length(std::string_view name, const std::string& text, std::size_t least,
                  std::size_t most) {
    if (text.size() < least || text.size() > most)
      fail(std::string{name} + " has " + std::to_string(text.size()) + " bytes" + where_ + ": " +
           std::to_string(least) + " to " + std::to_string(most) + " were expected");
    return *this;
  }
  Result<void> result() const { return result_; }

 private:
  void fail(std::string sentence) {
    if (result_) result_ = invalid(std::move(sentence));
  }
  std::string where_;
  Result<void> result_;
};

void check_voter(Checker& checker, const VoterState& voter) {
  for (const Configuration& known : {voter.proposed, voter.committed})
    checker.number("a round's epoch", known.version.epoch, 0, kCountMax)
        .number("a round", known.version.round, 0, kCountMax)
        .number("a round's revision", known.version.revision, 0, kCountMax)
        .number("a round's nodes", known.voters, 0, kNodesMax + 1)
        .number("a rank in a round", known.rank, -1, kNodesMax)
        .length("a list of ranks", known.awaited, 0, kRankListBytesMax);
  checker.number("the epoch", voter.epoch, 0, kCountMax)
      .number("the promised epoch", voter.promised, 0, kCountMax)
      .number("the running round", voter.running, 0, kCountMax)
      .number("old_lease_ms", voter.old_lease_ms, 0, kTimeoutMsMax)
      .number("standby_port", voter.standby_port, 0, kPortMax)
      .number("the spares", voter.spares, 0, kNodesMax)
      .length("a list of ranks", voter.dead_ranks, 0, kRankListBytesMax)
      .length("the last coordinator", voter.leader, 0, kEndpointBytesMax);
}

/// The host stands in every sentence, so it is checked first, in sentences without it.
Result<void> check(const Join& join) {
  Checker host;
  host.length("the name of the host", join.host, 0, kHostBytesMax);
  if (!host.result()) return host.result();
  Checker checker{" on " + join.host};
  checker.length("the node id", join.node, 1, kNodeIdBytesMax)
      .length("the run id", join.run_id, 0, kRunIdBytesMax)
      .length("the role", join.role, 0, kRoleBytesMax)
      .number("incarnation", join.incarnation, 1, kCountMax)
      .number("the number of workers", join.workers, 1, kWorkersPerNodeMax)
      .number("the node rank", join.node_rank, -1, kNodesMax - 1)
      .number("the place", join.place, 0, kPlacesMax - 1)
      .number("check_ms", join.check_ms, 0, kTimeoutMsMax)
      .number("the world size", join.parked.world_size, 0, kIntMax);
  for (const Ranged& each : ranged(join.terms))
    checker.number(each.name, each.value, each.least, each.most);
  // The coordinator tells one attempt more than there are when the last of them has failed. A
  // witness goes by no terms.
  const bool all_count = join.terms.restarts.counted == CountedRestarts::kAll && !join.witness;
  const std::int64_t attempt_max = all_count ? std::int64_t{join.terms.restarts_max} + 1 : kIntMax;
  check_voter(checker, join.voter);
  checker.number("the last round", join.counters.round, 0, kCountMax)
      .number("the last attempt", join.counters.attempt, 0, std::min(attempt_max, kIntMax));
  return checker.result();
}

Result<void> check_round(int round) {
  return Checker{}.number("round", round, 0, kIntMax).result();
}

Result<void> check_step(int round, std::int64_t step, std::int64_t least, std::int64_t most) {
  return Checker{}.number("round", round, 0, kIntMax).number("step", step, least, most).result();
}

Result<void> check_epoch(std::int64_t epoch) {
  return Checker{}.number("epoch", epoch, 0, kCountMax).result();
}

/// Checks a report of a coordinator; "": it is not known where it is.
Result<void> check_leader(std::int64_t epoch, const std::string& coordinator) {
  return Checker{}
      .number("epoch", epoch, 0, kCountMax)
      .length("the coordinator", coordinator, 0, kEndpointBytesMax)
      .result();
}

Result<void> check(const Preempt& preempt) {
  return Checker{}.number("checkpoint_ms", preempt.checkpoint_ms, 1, kTimeoutMsMax).result();
}

Result<void> check(const Joined& joined) {
  return Checker{}
      .number("heartbeat_timeout_ms", joined.heartbeat_timeout_ms, kHeartbeatTimeoutMsMin,
              kTimeoutMsMax)
      .number("epoch", joined.epoch, 0, kCountMax)
      .result();
}

void check_part(Checker& checker, const CheckpointPart& part) {
  checker.number("the number of a checkpoint", part.number, 1, kCountMax)
      .number("its parts", part.parts, 1, kNodesMax)
      .number("a part", part.part, 0, part.parts - 1)
      .number("its time", part.taken_unix_ms, 0, kCheckpointBytesMax)
      .number("its bytes", part.bytes, 0, kCheckpointBytesMax)
      .number("its older bytes", part.older_bytes, 0, kCheckpointBytesMax);
}

Result<void> check(const std::vector<PartSource>& sources) {
  Checker checker;
  for (const PartSource& source : sources) check_part(checker, source.part);
  return checker.result();
}

Result<void> check(const StartRound& start) {
  const auto numbers =
      Checker{}
          .number("round", start.round, 1, kIntMax)
          .number("attempt", start.attempt, 0, kIntMax)
          .number("group_world_size", start.group_world_size, 1, kNodesMax)
          .number("group_rank", start.group_rank, 0, start.group_world_size - 1)
          .number("world_size", start.world_size, 1, kIntMax)
          .number("first_rank", start.first_rank, 0, start.world_size - 1)
          .number("role_world_size", start.role_world_size, 1, start.world_size)
          .number("first_role_rank", start.first_role_rank, 0, start.role_world_size - 1)
          .number("master_port", start.master_port, 0, kPortMax)
          .number("the number of a checkpoint", start.checkpoint.number, kUnknownCheckpoint,
                  kCountMax)
          .result();
  return numbers ? check(start.checkpoint.sources) : numbers;
}

Result<void> check(const StopRound& stop) {
  return Checker{}
      .number("round", stop.round, 0, kIntMax)
      .number("attempt", stop.attempt, 0, kIntMax)
      .number("checkpoint_ms", stop.checkpoint_ms, 0, kTimeoutMsMax)
      .result();
}

Result<void> check(const HeldCheckpoints& held) {
  Checker checker;
  checker.number("the number of a checkpoint", held.written, 0, kCountMax)
      .number("room", held.room, -1, kCheckpointBytesMax)
      .number("port", held.port, 0, kPortMax);
  for (const CheckpointPart& part : held.parts) check_part(checker, part);
  for (const CheckpointPart& part : held.copies) check_part(checker, part);
  return checker.result();
}

Result<void> check(const CheckpointSaid& said) {
  return Checker{}
      .number("the number of a checkpoint", said.number, 0, kCountMax)
      .number("a part", said.part, 0, kNodesMax - 1)
      .number("bytes", said.bytes, 0, kCheckpointBytesMax)
      .number("older bytes", said.older_bytes, 0, kCheckpointBytesMax)
      .result();
}

Result<void> check(const CheckpointOrder& order) {
  const auto numbers = Checker{}
                           .number("the number of a checkpoint", order.number, 0, kCountMax)
                           .number("its parts", order.parts, 1, kNodesMax)
                           .number("a part", order.part, 0, order.parts - 1)
                           .result();
  return numbers ? check(order.copies) : numbers;
}

Result<void> check(const Inspect& inspect) {
  return Checker{}.number("patience_ms", inspect.patience_ms, 0, kTimeoutMsMax).result();
}

/// A coordinator knows of the job, and of no node's own part.
Result<void> check(const EndJob& end) {
  if (end.outcome >= JobOutcome::kFinished && end.outcome <= JobOutcome::kPreempted) return {};
  return invalid("a job does not end as '" + std::string{name_of(end.outcome)} + "'");
}

Result<void> check(const Spare& spare) {
  return Checker{}
      .number("round", spare.round, 0, kIntMax)
      .number("attempt", spare.attempt, 0, kIntMax)
      .result();
}

Result<void> check(const Prepare& prepare) {
  const auto waits = check(prepare.waits);
  return waits ? check(prepare.place) : waits;
}

}  // namespace

Result<void> check(const AgentMessage& message) {
  return match(
      message,  //
      [](const Join& m) { return check(m); }, [](const Preempt& m) { return check(m); },
      [](const WorkerFailed& m) { return check_round(m.round); },
      [](const WorkersFinished& m) { return check_round(m.round); },
      [](const WorkersStopped& m) {
        return Checker{}
            .number("round", m.round, 0, kIntMax)
            .number("the world size", m.parked.world_size, 0, kIntMax)
            .result();
      },
      [](const WorkersStarted& m) { return check_round(m.round); },
      [](const WorkersStay& m) { return check_round(m.round); },
      [](const Holding& m) { return check_step(m.round, m.step, -1, kHeldStepMax); },
      [](const WorkersEnded& m) { return check_round(m.round); },
      [](const Debugging& m) { return check_round(m.round); },
      [](const Vote& m) { return check_epoch(m.epoch); },
      [](const InviteWitness& m) {
        return Checker{}
            .number("epoch", m.epoch, 0, kCountMax)
            .number("round", m.round, 0, kIntMax)
            .number("join_timeout_ms", m.join_timeout_ms, 0, kTimeoutMsMax)
            .length("the run id", m.run_id, 0, kRunIdBytesMax)
            .length("the coordinator", m.coordinator, 1, kEndpointBytesMax)
            .result();
      },
      [](const Identify& m) { return check_leader(m.epoch, m.coordinator); },
      [](const FinalStatus& m) { return check(m.end); },
      [](const HeldCheckpoints& m) { return check(m); },
      [](const CheckpointSaid& m) { return check(m); }, [](const auto&) { return Result<void>{}; });
}

Result<void> check(const CoordinatorMessage& message) {
  return match(
      message,  //
      [](const Joined& m) { return check(m); }, [](const StartRound& m) { return check(m); },
      [](const StopRound& m) { return check(m); }, [](const Spare& m) { return check(m); },
      [](const LeaveAfter& m) { return check_step(m.round, m.step, 0, kCountMax); },
      [](const Prepare& m) { return check(m); },  //
      [](const EndJob& m) { return check(m); },
      [](const RequestVote& m) { return check_epoch(m.epoch); },
      [](const Identity& m) { return check_leader(m.epoch, m.coordinator); },
      [](const Redirect& m) { return check_leader(m.epoch, m.coordinator); },
      [](const Inspect& m) { return check(m); },  //
      [](const CheckpointOrder& m) { return check(m); },
      [](const auto&) { return Result<void>{}; });
}

}  // namespace ddprun
