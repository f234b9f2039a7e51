#include "launcher/run/run_recorder.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <utility>

#include "base/clock.hpp"
#include "base/report_failure.hpp"
#include "launcher/record/gather_run_record.hpp"
#include "launcher/record/record_folder.hpp"
#include "launcher/record/run_changes.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// A disk that hangs holds up the end of a run no longer.
constexpr auto kGatherTimeout = 2s;
constexpr auto kHostsTimeout = 10s;

/// A job that somebody has stopped, or that goes on later, has not failed.
bool has_failed(const JobReport& report) {
  return report.verdict && report.outcome != JobOutcome::kStopped;
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

void RunRecorder::watch(Agent& agent, const NodeFacts& node) {
  if (!spec_.logs.record.wanted || spec_.logs.directory.empty() || spec_.logs.no_files) return;
  node_ = &node;
  started_unix_ms_ = unix_time_ms();
  writes_ = node.run.coordinator_here;  // the job may end before there is a round
  agent.record().when_workers_run([this, &agent] { note_start(agent); });
}

void RunRecorder::note_start(Agent& agent) {
  const auto& round = agent.record().round();
  if (!round) return;
  writes_ = writes_record(*round);
  world_size_ = round->world_size;
  if (!writes_) return;
  if (!thread_) gather();
  if (round->group_world_size == 1)
    hosts_ = {node_->run.host};
  else
    co_spawn(home_, ask_hosts(agent), report_failure("asking for the nodes of the round"));
}

void RunRecorder::gather() {
  thread_.emplace(loop_.emplace(1), home_);
  asio::post(*loop_, [this] {
    record_ = gather_run_record(spec_, node_->environment);
    spdlog::debug("gathered the facts of this run for its record");
  });
}

/// The agent answers when its connection ends, too, which is before it goes.
asio::awaitable<void> RunRecorder::ask_hosts(Agent& agent) {
  const auto status = co_await agent.status(kHostsTimeout);
  if (status) hosts_ = hosts_in(*status);
}

/// Where no worker has run, nothing has been gathered yet.
const RunRecord& RunRecorder::facts() {
  if (!thread_) gather();
  thread_->end_within(kGatherTimeout);
  record_.hosts = hosts_;
  record_.world_size = world_size_;
  record_.started_unix_ms = started_unix_ms_;
  record_.ended_unix_ms = unix_time_ms();
  return record_;
}

void RunRecorder::end(JobReport& report) {
  const bool good = report.outcome == JobOutcome::kFinished;
  if (node_ == nullptr || !writes_ || !(good || has_failed(report))) return;
  const RunRecord& now = facts();
  if (now.ddprun.empty()) return;  // the disk hangs
  const std::filesystem::path folder = spec_.logs.directory;
  if (good) {
    if (const auto written = write_good_run(folder, now); !written)
      spdlog::warn("no record of this run: {}", written.error().message);
    return;
  }
  const auto before = read_good_run(folder, now.script);
  if (!before) return spdlog::warn("{}: passing it over", before.error().message);
  if (*before) report.changed = since_good_run(**before, now);
}

}  // namespace ddprun
