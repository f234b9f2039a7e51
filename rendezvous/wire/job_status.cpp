#include "rendezvous/wire/job_status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "rendezvous/wire/hang_fields.hpp"
#include "rendezvous/wire/json_fields.hpp"

namespace ddprun {

namespace fields {

constexpr TextLimit kStatusHost{256};
constexpr TextLimit kStatusReason{512};
constexpr TextLimit kStatusName{64};
constexpr TextLimit kStatusRunId{1024};

// clang-format off
using JobState = JobStatus::State;
template <> inline constexpr std::array kNames<JobState>{
    Named<JobState>{JobState::kGathering, "gathering"},
    Named<JobState>{JobState::kRunning, "running"},
    Named<JobState>{JobState::kStopping, "stopping"}, Named<JobState>{JobState::kEnded, "ended"}};
using NodeState = NodeStatus::State;
template <> inline constexpr std::array kNames<NodeState>{
    Named<NodeState>{NodeState::kReady, "ready"}, Named<NodeState>{NodeState::kSpare, "spare"},
    Named<NodeState>{NodeState::kWaiting, "waiting"},
    Named<NodeState>{NodeState::kRunning, "running"},
    Named<NodeState>{NodeState::kFinished, "finished"},
    Named<NodeState>{NodeState::kStopping, "stopping"}, Named<NodeState>{NodeState::kLost, "lost"}};
using RankState = RankStatus::State;
template <> inline constexpr std::array kNames<RankState>{
    Named<RankState>{RankState::kRunning, "running"},
    Named<RankState>{RankState::kWaiting, "waiting"},
    Named<RankState>{RankState::kMissing, "missing"},
    Named<RankState>{RankState::kFinished, "finished"},
    Named<RankState>{RankState::kStopping, "stopping"},
    Named<RankState>{RankState::kFailed, "failed"}, Named<RankState>{RankState::kLost, "lost"}};

template <> inline constexpr auto kFields<NodeStatus> = std::tuple{
    later(text("host", &NodeStatus::host, kStatusHost)), later(field("state", &NodeStatus::state)),
    later(field("group_rank", &NodeStatus::group_rank)),
    later(field("first_rank", &NodeStatus::first_rank)),
    later(field("workers", &NodeStatus::workers)),
    later(field("silent_ms", &NodeStatus::silent_ms)),
    later(text("reason", &NodeStatus::reason, kStatusReason))};
template <> inline constexpr auto kFields<RankStatus> = std::tuple{
    later(field("rank", &RankStatus::rank)), later(field("state", &RankStatus::state)),
    later(field("step", &RankStatus::step)), later(field("steps", &RankStatus::steps)),
    later(field("collectives", &RankStatus::collectives)), later(field("lag", &RankStatus::lag)),
    later(field("has_loss", &RankStatus::has_loss)), later(field("loss", &RankStatus::loss)),
    later(field("samples_per_second", &RankStatus::samples_per_second)),
    later(field("still_ms", &RankStatus::still_ms)),
    later(text("waits_in", &RankStatus::waits_in, kStatusName))};
template <> inline constexpr auto kFields<RoundStatus> = std::tuple{
    later(field("round", &RoundStatus::round)), later(field("attempt", &RoundStatus::attempt)),
    later(field("nodes", &RoundStatus::nodes)), later(field("world_size", &RoundStatus::world_size)),
    later(field("began_unix_ms", &RoundStatus::began_unix_ms)),
    later(field("ended_unix_ms", &RoundStatus::ended_unix_ms)),
    later(text("reason", &RoundStatus::reason, kStatusReason))};
template <> inline constexpr auto kFields<PointStatus> = std::tuple{
    later(field("unix_ms", &PointStatus::unix_ms)), later(field("step", &PointStatus::step)),
    later(field("has_loss", &PointStatus::has_loss)), later(field("loss", &PointStatus::loss)),
    later(field("samples_per_second", &PointStatus::samples_per_second))};
template <> inline constexpr auto kFields<JobStatus> = std::tuple{
    later(text("run_id", &JobStatus::run_id, kStatusRunId)),
    later(text("title", &JobStatus::title, kStatusHost)),
    later(field("state", &JobStatus::state)), later(text("why", &JobStatus::why, kStatusReason)),
    later(field("round", &JobStatus::round)), later(field("attempt", &JobStatus::attempt)),
    later(field("restarts_left", &JobStatus::restarts_left)),
    later(field("nodes_min", &JobStatus::nodes_min)),
    later(field("nodes_max", &JobStatus::nodes_max)),
    later(text("witness", &JobStatus::witness, kStatusHost)),
    later(field("now_unix_ms", &JobStatus::now_unix_ms)),
    later(field("began_unix_ms", &JobStatus::began_unix_ms)),
    later(field("step", &JobStatus::step)), later(field("steps", &JobStatus::steps)),
    later(field("progress_percent", &JobStatus::progress_percent)),
    later(field("left_s", &JobStatus::left_s)), later(field("has_loss", &JobStatus::has_loss)),
    later(field("loss", &JobStatus::loss)),
    later(field("samples_per_second", &JobStatus::samples_per_second)),
    later(field("steps_per_second", &JobStatus::steps_per_second)),
    later(list("nodes", &JobStatus::nodes, kStatusNodesMax)),
    later(list("ranks", &JobStatus::ranks, kStatusRanksMax)),
    later(field("ranks_left_out", &JobStatus::ranks_left_out)),
    later(list("rounds", &JobStatus::rounds, kStatusRoundsMax)),
    later(list("history", &JobStatus::history, kStatusPointsMax)),
    later(field("hang", &JobStatus::hang))};
// clang-format on

}  // namespace fields

namespace {

constexpr char kSchema[] = "ddprun.status/1";
/// Steps per second are those of the last seconds, or of all the time when there are fewer.
constexpr std::int64_t kRateMs = 30'000;

template <typename Enum>
std::string_view name_in_json(Enum value) {
  for (const auto& named : fields::kNames<Enum>)
    if (named.value == value) return named.name;
  return "";
}

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
void add_up(JobStatus& status) {
  std::int64_t losses = 0;
  double loss = 0;
  status.step = -1;
  status.steps = 0;
  status.samples_per_second = 0;
  for (const RankStatus& rank : status.ranks) {
    if (rank.step >= 0 && (status.step < 0 || rank.step < status.step)) status.step = rank.step;
    status.steps = std::max(status.steps, rank.steps);
    status.samples_per_second += rank.samples_per_second;
    losses += rank.has_loss ? 1 : 0;
    loss += rank.has_loss ? rank.loss : 0;
  }
  status.has_loss = losses > 0;
  status.loss = losses > 0 ? loss / static_cast<double>(losses) : 0;
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

void estimate_end(JobStatus& status) {
  status.steps_per_second = steps_per_second(status.history);
  if (status.steps <= 0 || status.step < 0) return;
  const auto done = static_cast<double>(std::min(status.step, status.steps));
  const auto all = static_cast<double>(status.steps);
  status.progress_percent = 100 * done / all;
  if (status.left_s >= 0 || status.steps_per_second <= 0) return;
  status.left_s = static_cast<std::int64_t>((all - done) / status.steps_per_second);
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
  status.ranks_left_out += static_cast<int>(status.ranks.size() - ranks_max);
  status.ranks.resize(ranks_max);
}

nlohmann::json to_object(const JobStatus& status) {
  nlohmann::json out = fields::to_object(status);
  out["schema"] = kSchema;
  if (status.verdict.empty()) return out;
  auto verdict = nlohmann::json::parse(status.verdict, nullptr, false);
  if (!verdict.is_discarded()) out["verdict"] = std::move(verdict);
  return out;
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void summarize(JobStatus& status) {
  tell_lags(status.ranks);
  add_up(status);
  estimate_end(status);
  leave_out(status, kStatusRanksMax);
}

std::string to_json(const JobStatus& status) {
  std::string text = dump(to_object(status));
  for (JobStatus less = status; text.size() > kStatusBytesMax; text = dump(to_object(less))) {
    less.verdict.clear();
    less.nodes.resize(less.nodes.size() / 2);
    leave_out(less, less.ranks.size() / 2);
  }
  return text;
}

Result<JobStatus> parse_job_status(std::string_view json) try {
  if (json.size() > kStatusBytesMax) return invalid("a job's status is too long");
  const auto in = nlohmann::json::parse(json);
  auto status = fields::from_object<JobStatus>(in, "status");
  if (const auto verdict = in.find("verdict"); verdict != in.end()) status.verdict = dump(*verdict);
  return status;
} catch (const fields::Unfit& e) {
  return invalid(std::string{"malformed status: "} + e.what());
} catch (const nlohmann::json::exception& e) {
  return invalid(std::string{"malformed status: "} + e.what());
}

std::string_view name_of(JobStatus::State state) { return name_in_json(state); }
std::string_view name_of(NodeStatus::State state) { return name_in_json(state); }
std::string_view name_of(RankStatus::State state) { return name_in_json(state); }

}  // namespace ddprun
