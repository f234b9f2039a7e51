// EndEvidence: what this node can find out about the end of a worker besides its exit status: the
// heartbeats that it wrote, the exception that it recorded, and what the kernel's out-of-memory
// killer did meanwhile. Each round begins without any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/decisions/agent_end.hpp"
#include "agent/introspection/introspection.hpp"
#include "agent/output/log_writer.hpp"
#include "agent/workers/heartbeat_board.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/failure.hpp"
#include "base/machine/oom_counters.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

using OomReader = std::function<OomCounters()>;

/// A sentence for the report of a worker that SIGKILL ended: what the kernel did between the two
/// readings. "" when the counters stand still.
std::string oom_evidence(const OomCounters& before, const OomCounters& after);

class EndEvidence {
 public:
  /// `node` must live longer. `oom` reads the counters of the kernel's out-of-memory killer, and
  /// `files` what workers have recorded; null: it is read here.
  EndEvidence(const NodeFacts& node, OomReader oom, std::shared_ptr<LogWriter> files)
      : node_{node}, read_oom_{std::move(oom)}, files_{std::move(files)} {}

  /// Begins a round of that many workers. Returns where these write their heartbeats; "": nowhere.
  /// `some_stay`: some of them were in the round before, and go on writing to the same place.
  std::string begin_round(const StartRound& round, int workers, bool some_stay);
  /// That worker is another one from now on, and has written nothing.
  void begin_worker(int local_rank);

  /// The end of a worker as far as it can be known without a judgement; `pid` 0: it has not begun.
  WorkerFailure end_of(int local_rank, std::int64_t pid, ExitStatus status) const;

  /// Judges that end with all that is known of it; what `how` tells is added to the clues.
  WorkerExited judge(WorkerFailure how, EndClues clues) const;

  /// Adds what the worker has reported in its heartbeats.
  void add_reported(int local_rank, WorkerLook& look) const;

 private:
  void add_evidence(WorkerFailure& how) const;
  std::optional<sdk::HeartbeatReading> heartbeat(int local_rank) const;

  const NodeFacts& node_;
  OomReader read_oom_;
  std::shared_ptr<LogWriter> files_;
  StartRound round_;
  std::optional<HeartbeatBoard> heartbeats_;  // written by this round's workers
  std::map<int, std::int64_t> begun_ns_;      // by local rank: earlier heartbeats are another one's
  OomCounters oom_before_;                    // when the round began
};

}  // namespace ddprun
