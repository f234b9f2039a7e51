#include "launcher/run/run_recorder.hpp"

#include <filesystem>
#include <utility>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "launcher/record/gather_run_record.hpp"
#include "launcher/record/record_folder.hpp"
#include "launcher/record/run_record.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// A disk that hangs holds up the end of a run no longer.
constexpr auto kDiskTimeout = 2s;
constexpr auto kHostsTimeout = 10s;

/// A job that somebody has stopped, or that goes on later, has not failed.
bool has_failed(const JobReport& report) {
  return report.verdict && report.outcome != JobOutcome::kStopped;
}

/// Other errors name the file already.
Error named(Error error, const std::filesystem::path& folder) {
  if (error.kind == Error::Kind::kTimeout) error.message = folder.string() + ": " + error.message;
  return error;
}

/// The thread that calls it may live longer than all else, so it has copies, and no secret.
FactsThread::Gather gathering(LaunchSpec spec, const std::vector<std::string>& environment) {
  spec.secret.reset();
  return [spec = std::move(spec), environment] { return gather_run_record(spec, environment); };
}

}  // namespace

bool writes_record(const StartRound& round) {
  return round.group_rank == (round.leader_rank < 0 ? 0 : round.leader_rank);
}

std::vector<std::string> hosts_in(const JobStatus& status) {
  std::vector<std::string> hosts;
  for (const NodeStatus& node : status.nodes)
    if (node.group_rank >= 0 && node.state != NodeStatus::State::kLost) hosts.push_back(node.host);
  return hosts;
}

RunRecorder::RunRecorder(asio::io_context& home, const LaunchSpec& spec)
    : home_{home}, spec_{spec} {}

Result<void> RunRecorder::prepare(NodeFacts& node) {
  if (!spec_.logs.record.wanted || spec_.logs.directory.empty() || spec_.logs.no_files) return {};
  node_ = &node;
  started_unix_ms_ = unix_time_ms();
  writes_ = node.run.coordinator_here;  // the job may end before there is a round
  return {};
}

void RunRecorder::start(Agent& agent) {
  if (node_ != nullptr) agent.record().when_workers_run([this, &agent] { note_start(agent); });
}

void RunRecorder::note_start(Agent& agent) {
  const auto& round = agent.record().job().round;
  if (!round) return;
  writes_ = writes_record(*round);
  world_size_ = round->world_size;
  if (!writes_) return;
  gather();
  if (round->group_world_size == 1)
    hosts_ = {node_->run.host};
  else
    start_coroutine(home_, ask_hosts(agent), report_failure("asking for the nodes of the round"));
}

void RunRecorder::gather() {
  if (!thread_) thread_.emplace(home_, gathering(spec_, node_->machine.environment));
  thread_->begin();
}

/// The agent answers when its connection ends, too, which is before it goes.
asio::awaitable<void> RunRecorder::ask_hosts(Agent& agent) {
  const auto status = co_await agent.status(kHostsTimeout);
  if (status) hosts_ = hosts_in(*status);
}

/// Where no worker has run, nothing has been gathered yet.
Result<RunRecord> RunRecorder::facts() {
  if (!thread_) gather();
  Result<RunRecord> record = thread_->facts_within(kDiskTimeout);
  if (!record) return record;
  record->hosts = hosts_;
  record->world_size = world_size_;
  record->started_unix_ms = started_unix_ms_;
  record->ended_unix_ms = unix_time_ms();
  return record;
}

void RunRecorder::end(JobReport& report) {
  const bool good = report.outcome == JobOutcome::kFinished;
  if (node_ == nullptr || !writes_ || !(good || has_failed(report))) return;
  const std::filesystem::path folder = spec_.logs.directory;
  const auto now = facts();
  if (good) {
    const auto written = now ? write_in_time(folder, *now) : now.error();
    if (!written) log::warn("no record of this run: {}", written.error().message);
    return;
  }
  if (!now) return log::warn("this run is not compared with a good one: {}", now.error().message);
  const auto before = read_in_time(folder, now->script);
  if (!before) return log::warn("{}: passing it over", before.error().message);
  if (*before) report.changed = since_good_run(**before, *now);
}

Result<void> RunRecorder::write_in_time(const std::filesystem::path& folder,
                                        const RunRecord& record) {
  auto written = disk_.answer_within<void>(
      kDiskTimeout, [folder, record] { return write_good_run(folder, record); });
  return written ? written : named(written.error(), folder);
}

Result<std::optional<RunRecord>> RunRecorder::read_in_time(const std::filesystem::path& folder,
                                                           const RecordedScript& script) {
  auto found = disk_.answer_within<std::optional<RunRecord>>(
      kDiskTimeout, [folder, script] { return read_good_run(folder, script); });
  if (!found) return named(found.error(), folder);
  return found;
}

}  // namespace ddprun
