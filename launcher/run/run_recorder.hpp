// RunRecorder: compares a run that failed with the last good run of its script in the same folder
// of logs, and keeps the record of one that was good. One node does so, which of them is decided by
// writes_record(): nodes may share the folder.
//
// Facts are gathered in a thread of their own whenever workers have been started, because the
// script may be another one by the end of a long run, or have been mended before a restart, and no
// start is to wait for it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/reports/job_report.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"
#include "launcher/record/run_record.hpp"
#include "launcher/run/facts_thread.hpp"
#include "launcher/run/service.hpp"

namespace ddprun {

/// Whether the node with that part in a round keeps the record: that of the coordinator, or the
/// first one where the coordinator is on none of them. Pure.
bool writes_record(const StartRound& round);

/// The hosts of the nodes that take part in a round. Pure.
std::vector<std::string> hosts_in(const JobStatus& status);

class RunRecorder : public Service {
 public:
  /// `home` and `spec` must live longer.
  RunRecorder(asio::io_context& home, const LaunchSpec& spec);

  Result<void> prepare(NodeFacts& node) override;
  /// Gathers the facts of the run whenever the agent's workers have been started.
  void start(Agent& agent) override;

  /// Adds to the report of a failure what has changed, or keeps the record of a good run. What
  /// cannot be gathered, read or written is one warning, after a few seconds at most where a disk
  /// hangs. To be called when the agent has ended.
  void end(JobReport& report);

 private:
  void note_start(Agent& agent);
  void gather();
  asio::awaitable<void> ask_hosts(Agent& agent);
  Result<RunRecord> facts();
  Result<void> write_in_time(const std::filesystem::path& folder, const RunRecord& record);
  Result<std::optional<RunRecord>> read_in_time(const std::filesystem::path& folder,
                                                const RecordedScript& script);

  asio::io_context& home_;
  const LaunchSpec& spec_;
  const NodeFacts* node_ = nullptr;  // null: nothing is recorded of this run
  bool writes_ = false;
  int world_size_ = 0;
  std::int64_t started_unix_ms_ = 0;
  std::vector<std::string> hosts_;     // empty: not known
  std::optional<FactsThread> thread_;  // made when the workers have been started
  LeftBehindQueue disk_{/*tasks_max=*/1, LeftBehindQueue::Files::kOwn};
};

}  // namespace ddprun
