#include "rendezvous/messages/job_status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rendezvous/messages/json_fields.hpp"
#include "rendezvous/messages/verdict_fields.hpp"

namespace ddprun {

namespace fields {

constexpr TextLimit kStatusHost{256};
constexpr TextLimit kStatusReason{512};
constexpr TextLimit kStatusName{64};
constexpr TextLimit kStatusRunId{1024};

// clang-format off
using JobState = JobStatus::State;
template <> inline constexpr auto kNames<JobState> = std::to_array<Named<JobState>>({
    {JobState::kGathering, "gathering"}, {JobState::kRunning, "running"},
    {JobState::kStopping, "stopping"}, {JobState::kEnded, "ended"}});
using NodeState = NodeStatus::State;
template <> inline constexpr auto kNames<NodeState> = std::to_array<Named<NodeState>>({
    {NodeState::kReady, "ready"}, {NodeState::kSpare, "spare"},
    {NodeState::kStarting, "starting"}, {NodeState::kWaiting, "waiting"},
    {NodeState::kRunning, "running"}, {NodeState::kFinished, "finished"},
    {NodeState::kStopping, "stopping"}, {NodeState::kLost, "lost"}});
using RankState = RankStatus::State;
template <> inline constexpr auto kNames<RankState> = std::to_array<Named<RankState>>({
    {RankState::kRunning, "running"}, {RankState::kWaiting, "waiting"},
    {RankState::kMissing, "missing"}, {RankState::kFinished, "finished"},
    {RankState::kStopping, "stopping"}, {RankState::kFailed, "failed"},
    {RankState::kLost, "lost"}});

template <> inline constexpr auto kFields<NodeStatus> = std::tuple{
    text("host", &NodeStatus::host, kStatusHost), field("state", &NodeStatus::state),
    field("group_rank", &NodeStatus::group_rank),
    field("first_rank", &NodeStatus::first_rank),
    field("workers", &NodeStatus::workers),
    field("silent_ms", &NodeStatus::silent_ms),
    text("reason", &NodeStatus::reason, kStatusReason)};
template <> inline constexpr auto kFields<RankStatus> = std::tuple{
    field("rank", &RankStatus::rank), field("state", &RankStatus::state),
    field("step", &RankStatus::step), field("steps", &RankStatus::steps),
    field("collectives", &RankStatus::collectives), field("lag", &RankStatus::lag),
    field("has_loss", &RankStatus::has_loss), field("loss", &RankStatus::loss),
    field("samples_per_second", &RankStatus::samples_per_second),
    field("still_ms", &RankStatus::still_ms),
    text("waits_in", &RankStatus::waits_in, kStatusName)};
template <> inline constexpr auto kFields<RoundStatus> = std::tuple{
    field("round", &RoundStatus::round), field("attempt", &RoundStatus::attempt),
    field("nodes", &RoundStatus::nodes), field("world_size", &RoundStatus::world_size),
    field("began_unix_ms", &RoundStatus::began_unix_ms),
    field("ended_unix_ms", &RoundStatus::ended_unix_ms),
    text("reason", &RoundStatus::reason, kStatusReason),
    field("in_place", &RoundStatus::in_place)};
template <> inline constexpr auto kFields<PointStatus> = std::tuple{
    field("unix_ms", &PointStatus::unix_ms), field("step", &PointStatus::step),
    field("has_loss", &PointStatus::has_loss), field("loss", &PointStatus::loss),
    field("samples_per_second", &PointStatus::samples_per_second)};
// The fields of this are in the object of the JobStatus itself.
template <> inline constexpr auto kFields<JobSummary> = std::tuple{
    field("step", &JobSummary::step), field("steps", &JobSummary::steps),
    field("progress_percent", &JobSummary::percent),
    field("left_s", &JobSummary::left_s), field("has_loss", &JobSummary::has_loss),
    field("loss", &JobSummary::loss),
    field("samples_per_second", &JobSummary::samples_per_second),
    field("steps_per_second", &JobSummary::steps_per_second),
    field("restarts_in_ms", &JobSummary::restarts_in_ms),
    field("ranks_left_out", &JobSummary::ranks_left_out)};
template <> inline constexpr auto kFields<JobStatus> = std::tuple{
    text("run_id", &JobStatus::run_id, kStatusRunId),
    text("title", &JobStatus::title, kStatusHost),
    field("state", &JobStatus::state), field("outcome", &JobStatus::outcome),
    text("why", &JobStatus::why, kStatusReason),
    field("round", &JobStatus::round), field("attempt", &JobStatus::attempt),
    field("restarts_left", &JobStatus::restarts_left),
    field("nodes_min", &JobStatus::nodes_min),
    field("nodes_max", &JobStatus::nodes_max),
    text("witness", &JobStatus::witness, kStatusHost),
    field("now_unix_ms", &JobStatus::now_unix_ms),
    field("began_unix_ms", &JobStatus::began_unix_ms),
    list("nodes", &JobStatus::nodes, kStatusNodesMax),
    list("ranks", &JobStatus::ranks, kStatusRanksMax),
    list("rounds", &JobStatus::rounds, kStatusRoundsMax),
    list("history", &JobStatus::history, kStatusPointsMax),
    field("hang", &JobStatus::hang), field("verdict", &JobStatus::verdict)};
// clang-format on

}  // namespace fields

namespace {

constexpr char kSchema[] = "ddprun.status/1";
/// Steps per second are those of the last seconds, or of all the time when there are fewer.
constexpr std::int64_t kRateMs = 30'000;

/// Fills in how far each rank is behind the fastest one.
void tell_lags(std::vector<RankStatus>& ranks) {
  const auto most = [&](std::int64_t RankStatus::*member) {
    std::int64_t value = -1;
    for (const RankStatus& rank : ranks) value = std::max(value, rank.*member);
    return value;
  };
  const std::int64_t step = most(&RankStatus::step);
  const std::int64_t collective = most(&RankStatus::collectives);
  for (RankStatus& rank : ranks) {
    if (rank.step >= 0)
      rank.lag = step - rank.step;
    else if (step < 0 && rank.collectives >= 0)
      rank.lag = collective - rank.collectives;
  }
}

/// Sums up what the ranks tell: the job is as far as its slowest rank.
void add_up(JobSummary& all, const std::vector<RankStatus>& ranks) {
  std::int64_t losses = 0;
  double loss = 0;
  all.step = -1;
  all.steps = 0;
  all.samples_per_second = 0;
  for (const RankStatus& rank : ranks) {
    if (rank.step >= 0 && (all.step < 0 || rank.step < all.step)) all.step = rank.step;
    all.steps = std::max(all.steps, rank.steps);
    all.samples_per_second += rank.samples_per_second;
    losses += rank.has_loss ? 1 : 0;
    loss += rank.has_loss ? rank.loss : 0;
  }
  all.has_loss = losses > 0;
  all.loss = losses > 0 ? loss / static_cast<double>(losses) : 0;
}

double steps_per_second(const std::vector<PointStatus>& history) {
  if (history.size() < 2) return 0;
  const PointStatus& last = history.back();
  const PointStatus* first = &history.front();
  for (const PointStatus& point : history)
    if (point.unix_ms <= last.unix_ms - kRateMs) first = &point;
  const std::int64_t ms = last.unix_ms - first->unix_ms;
  const std::int64_t steps = last.step - first->step;
  return ms > 0 && steps > 0 ? static_cast<double>(steps) * 1000 / static_cast<double>(ms) : 0;
}

void estimate_end(JobSummary& summary, const std::vector<PointStatus>& history) {
  summary.steps_per_second = steps_per_second(history);
  if (summary.steps <= 0 || summary.step < 0) return;
  const auto done = static_cast<double>(std::min(summary.step, summary.steps));
  const auto all = static_cast<double>(summary.steps);
  summary.percent = 100 * done / all;
  if (summary.left_s >= 0 || summary.steps_per_second <= 0) return;
  summary.left_s = static_cast<std::int64_t>((all - done) / summary.steps_per_second);
}

/// How much a rank stands out: the greatest first.
std::tuple<bool, std::int64_t, std::int64_t> prominence(const RankStatus& rank) {
  const bool odd = rank.state != RankStatus::State::kRunning &&
                   rank.state != RankStatus::State::kWaiting &&
                   rank.state != RankStatus::State::kFinished;
  return {odd, rank.lag, rank.still_ms};
}

void leave_out(JobStatus& status, std::size_t ranks_max) {
  if (status.ranks.size() <= ranks_max) return;
  std::ranges::stable_sort(status.ranks, std::greater<>{}, prominence);
  status.summary.ranks_left_out += static_cast<int>(status.ranks.size() - ranks_max);
  status.ranks.resize(ranks_max);
}

std::string whole_json(const JobStatus& status) {
  nlohmann::json out = fields::to_object(status);
  out.update(fields::to_object(status.summary));
  out["schema"] = kSchema;
  return fields::ascii_line(out);
}

}  // namespace

void summarize(JobStatus& status) {
  tell_lags(status.ranks);
  add_up(status.summary, status.ranks);
  estimate_end(status.summary, status.history);
  leave_out(status, kStatusRanksMax);
}

std::string to_json(const JobStatus& status) {
  std::string text = whole_json(status);
  for (JobStatus less = status; text.size() > kStatusBytesMax; text = whole_json(less)) {
    less.verdict.reset();
    less.nodes.resize(less.nodes.size() / 2);
    leave_out(less, less.ranks.size() / 2);
  }
  return text;
}

Result<JobStatus> parse_job_status(std::string_view json) try {
  if (json.size() > kStatusBytesMax) return invalid("a job's status is too long");
  const auto object = nlohmann::json::parse(json);
  auto status = fields::from_object<JobStatus>(object, "status");
  status.summary = fields::from_object<JobSummary>(object, "status");
  return status;
} catch (const std::exception& e) {  // from the parser, or Unfit
  return invalid(std::string{"malformed status: "} + e.what());
}

std::string_view name_of(JobStatus::State state) { return fields::name_of(state); }
std::string_view name_of(NodeStatus::State state) { return fields::name_of(state); }
std::string_view name_of(RankStatus::State state) { return fields::name_of(state); }

}  // namespace ddprun
