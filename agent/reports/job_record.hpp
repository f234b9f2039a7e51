// JobRecord keeps what the coordinator tells of the job and the job's report repeats: why it
// failed, where its time went, and the hang that its workers are in. Of a hang in NCCL it asks
// NCCL's own service, too, where rank 0 is: that one knows of all ranks, so one node asks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/reports/job_report.hpp"
#include "base/asio.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

/// What a JobRecord has of its job.
struct RecordedJob {
  std::optional<Verdict> verdict;    // why the job failed, as the coordinator has said
  std::optional<HangReport> hang;    // that the workers were in when they were last heard of
  std::optional<JobTimes> times;     // where the time of the job went, told at its end
  std::vector<PastHang> past_hangs;  // the last ones that are over
  /// The last round that was begun here, as this node takes part in it; nullopt: none was.
  std::optional<StartRound> round;
  std::vector<ContinuedRound> continued;  // the last ones that began with a checkpoint
  int put_back = 0;                       // how many did
};

class JobRecord {
 public:
  explicit JobRecord(const asio::any_io_executor& executor) : executor_{executor} {}
  JobRecord(const JobRecord&) = delete;

  /// Workers of that round are started.
  void begin_round(const StartRound& round);
  /// They have been started.
  void workers_run() { started_(); }

  /// Takes down what the coordinator says. It was shown to the user before, so that what NCCL says
  /// of a hang follows what is known of it.
  void hear(const CoordinatorMessage& message);
  /// What becomes of checkpoints. One that is put back is for the round that begins next.
  void hear(const CheckpointNews& news);
  /// NCCL has said so of the hang of that number, from 1 up. It may answer when that is over, and
  /// the next one has begun.
  void hear_nccl(int hang, std::vector<std::string> wrong);

  /// What it has so far.
  const RecordedJob& job() const { return job_; }
  /// `tell` is called when the hang has changed.
  void when_hang_changes(std::function<void()> tell) { hang_changed_ = std::move(tell); }
  /// `tell` is called when all workers of a round have been started on this node.
  void when_workers_run(std::function<void()> tell) { started_ = std::move(tell); }

 private:
  void keep_hang(const std::optional<HangReport>& hang);
  void end_hang(std::int64_t lasted_ms);
  asio::awaitable<void> ask_nccl(int hang);

  asio::any_io_executor executor_;
  RecordedJob job_;
  int hangs_ = 0;                           // so far, with the one that lasts
  std::optional<CheckpointNews> put_back_;  // no round has begun with it yet
  std::function<void()> hang_changed_ = [] {};
  std::function<void()> started_ = [] {};
  bool may_ask_nccl_ = false;  // rank 0 is here, and was not asked in this round
};

}  // namespace ddprun
