#include "agent/workers/end_evidence.hpp"

#include <cmath>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

#include "agent/reports/failure_texts.hpp"
#include "agent/workers/round_folder.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

std::string oom_evidence(const OomCounters& before, const OomCounters& after) {
  if (const std::int64_t killed = killed_in_cgroup(before, after); killed > 0)
    return "out of memory: the kernel killed " + std::to_string(killed) +
           " process(es) of this job's cgroup meanwhile, which was at its memory limit" +
           (after.limit > 0 ? " of " + bytes_text(after.limit) : "");
  if (before.system >= 0 && after.system > before.system)
    return "probably out of memory: the kernel killed " +
           std::to_string(after.system - before.system) +
           " process(es) of this machine meanwhile for want of memory";
  return "";
}

/// A round gets a fresh board, so that nothing of the last one's workers is in it.
std::string EndEvidence::begin_round(const StartRound& round, int workers, bool some_stay) {
  round_ = round;
  oom_before_ = read_oom_();
  if (some_stay && heartbeats_) heartbeats_->begin_round();
  if (some_stay) return heartbeats_ ? heartbeats_->path() : "";
  heartbeats_.reset();
  begun_ns_.clear();
  auto board = HeartbeatBoard::create(workers);
  if (!board) {
    log::warn("{}", board.error().message);
    return "";
  }
  heartbeats_ = std::move(*board);
  return heartbeats_->path();
}

std::optional<sdk::HeartbeatReading> EndEvidence::heartbeat(int local_rank) const {
  if (!heartbeats_) return std::nullopt;
  const auto last = heartbeats_->read(local_rank);
  const auto begun = begun_ns_.find(local_rank);
  const bool is_its_own = last && (begun == begun_ns_.end() || last->time_ns >= begun->second);
  return is_its_own ? last : std::nullopt;
}

void EndEvidence::begin_worker(int local_rank) { begun_ns_[local_rank] = sdk::monotonic_ns(); }

WorkerFailure EndEvidence::end_of(int local_rank, std::int64_t pid, ExitStatus status) const {
  WorkerFailure how{.host = node_.run.host,
                    .group_rank = round_.group_rank,
                    .rank = rank_of(round_, local_rank),
                    .local_rank = local_rank,
                    .pid = pid,
                    .status = status,
                    .time_unix_ms = unix_time_ms()};
  if (!status.ok()) add_evidence(how);
  return how;
}

/// Adds what the worker wrote down before it failed, and what the kernel did. Only SIGKILL can have
/// come from the out-of-memory killer.
void EndEvidence::add_evidence(WorkerFailure& how) const {
  const auto last = heartbeat(how.local_rank);
  if (last) how.last_heartbeat = describe(*last, sdk::monotonic_ns());
  if (how.status.signal == SIGKILL) how.evidence = oom_evidence(oom_before_, read_oom_());
  const auto path = error_file(node_, round_, how.local_rank);
  if (path.empty()) return;
  const std::function<std::optional<RecordedError>()> read = [path] {
    return read_error_file(path);
  };
  auto recorded = answer_by(files_, path, read).value_or(std::nullopt);
  if (!recorded) return;
  how.error_file = path.string();
  how.message = std::move(recorded->message);
  how.traceback = std::move(recorded->traceback);
}

WorkerExited EndEvidence::judge(WorkerFailure how, EndClues clues) const {
  clues.rank = how.rank;
  clues.status = how.status;
  clues.message = how.message;
  clues.traceback = how.traceback;
  WorkerEnd end = judge_end(clues);
  how.status = end.status;
  shorten_texts(how);
  const auto last = heartbeat(how.local_rank);
  return {std::move(how), std::move(end), last ? last->step : -1};
}

void EndEvidence::add_reported(int local_rank, WorkerLook& look) const {
  const auto told = heartbeat(local_rank);
  if (!told) return;
  look.step = told->step;
  if (!std::isnan(told->loss)) look.loss = told->loss;
  look.samples_per_second = told->samples_per_second;
  if (told->steps > 0) look.steps = told->steps;
  if (told->first_step < 0) return;
  look.first_step = told->first_step;
  look.first_at = TimePoint{std::chrono::nanoseconds{told->first_time_ns}};
}

}  // namespace ddprun
