#include "rendezvous/messages/job_status.hpp"

#include <algorithm>
#include <tuple>

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/report_fields.hpp"

namespace ddprun {

namespace fields {

constexpr TextLimit kDumpRanks{16 * 1024};
constexpr TextLimit kDumpName{256};
constexpr TextLimit kDumpReason{512};

// clang-format off
template <> inline constexpr auto kFields<DumpWait> = table(
    text<&DumpWait::operation>("operation", kDumpName),
    text<&DumpWait::group>("group", kDumpName),
    field<&DumpWait::sequence>("sequence"),
    text<&DumpWait::waiting_ranks>("waiting_ranks", kDumpRanks),
    text<&DumpWait::missing_ranks>("missing_ranks", kDumpRanks));
template <> inline constexpr auto kFields<DumpUnheard> = table(
    text<&DumpUnheard::node>("node", kDumpName),
    text<&DumpUnheard::ranks>("ranks", kDumpRanks),
    text<&DumpUnheard::reason>("reason", kDumpReason));
template <> inline constexpr auto kFields<JobDump> = table(
    text<&JobDump::state>("state", kDumpName), text<&JobDump::why>("why", kDumpReason),
    field<&JobDump::round>("round"), field<&JobDump::attempt>("attempt"),
    field<&JobDump::world_size>("world_size"), field<&JobDump::nodes>("nodes"),
    field<&JobDump::took_ms>("took_ms"), field<&JobDump::hang>("hang"),
    list<&JobDump::waits>("waits", kDumpWaitsMax),
    list<&JobDump::stacks>("stacks", kDumpStacksMax),
    field<&JobDump::stacks_left_out>("stacks_left_out"),
    list<&JobDump::unheard>("unheard", kDumpUnheardMax));
// clang-format on

}  // namespace fields

namespace {

void leave_out_stacks(JobDump& dump, std::size_t stacks_max) {
  if (dump.stacks.size() <= stacks_max) return;
  dump.stacks_left_out += static_cast<int>(dump.stacks.size() - stacks_max);
  dump.stacks.resize(stacks_max);
}

}  // namespace

std::string to_json(const JobDump& dump) {
  JobDump less = dump;
  leave_out_stacks(less, kDumpStacksMax);
  std::string text = fields::to_text(less, JsonStyle::kAscii);
  while (text.size() > kDumpBytesMax && !(less.stacks.empty() && less.waits.empty())) {
    if (less.stacks.empty()) less.waits.resize(less.waits.size() / 2);
    leave_out_stacks(less, less.stacks.size() / 2);
    text = fields::to_text(less, JsonStyle::kAscii);
  }
  return text;
}

Result<JobDump> parse_job_dump(std::string_view json) try {
  if (json.size() > kDumpBytesMax) return invalid("a dump is too long");
  return fields::from_text<JobDump>(json, "dump");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed dump: "} + unfit.what());
}

namespace fields {

constexpr TextLimit kStatusHost{256};
constexpr TextLimit kStatusReason{512};
constexpr TextLimit kStatusName{64};
constexpr TextLimit kStatusRunId{1024};

// clang-format off
using JobState = JobStatus::State;
template <> inline constexpr auto kNames<JobState> = std::to_array<Named>({
    {JobState::kGathering, "gathering"}, {JobState::kRunning, "running"},
    {JobState::kStopping, "stopping"}, {JobState::kEnded, "ended"}});
using NodeState = NodeStatus::State;
template <> inline constexpr auto kNames<NodeState> = std::to_array<Named>({
    {NodeState::kReady, "ready"}, {NodeState::kSpare, "spare"},
    {NodeState::kStarting, "starting"}, {NodeState::kWaiting, "waiting"},
    {NodeState::kRunning, "running"}, {NodeState::kFinished, "finished"},
    {NodeState::kStopping, "stopping"}, {NodeState::kLost, "lost"}});
using RankState = RankStatus::State;
template <> inline constexpr auto kNames<RankState> = std::to_array<Named>({
    {RankState::kRunning, "running"}, {RankState::kWaiting, "waiting"},
    {RankState::kMissing, "missing"}, {RankState::kFinished, "finished"},
    {RankState::kStopping, "stopping"}, {RankState::kFailed, "failed"},
    {RankState::kLost, "lost"}});

template <> inline constexpr auto kFields<NodeStatus> = table(
    text<&NodeStatus::host>("host", kStatusHost), field<&NodeStatus::state>("state"),
    field<&NodeStatus::group_rank>("group_rank"),
    field<&NodeStatus::first_rank>("first_rank"),
    field<&NodeStatus::workers>("workers"),
    field<&NodeStatus::silent_ms>("silent_ms"),
    text<&NodeStatus::reason>("reason", kStatusReason),
    field<&NodeStatus::load>("load"), field<&NodeStatus::checkpoints>("checkpoints"));
template <> inline constexpr auto kFields<RankStatus> = table(
    field<&RankStatus::rank>("rank"), field<&RankStatus::state>("state"),
    field<&RankStatus::step>("step"), field<&RankStatus::steps>("steps"),
    field<&RankStatus::collectives>("collectives"), field<&RankStatus::lag>("lag"),
    field<&RankStatus::has_loss>("has_loss"), field<&RankStatus::loss>("loss"),
    field<&RankStatus::samples_per_second>("samples_per_second"),
    may_miss(field<&RankStatus::late_percent>("late_percent")),
    field<&RankStatus::still_ms>("still_ms"),
    text<&RankStatus::waits_in>("waits_in", kStatusName));
template <> inline constexpr auto kFields<RoundStatus> = table(
    field<&RoundStatus::round>("round"), field<&RoundStatus::attempt>("attempt"),
    field<&RoundStatus::nodes>("nodes"), field<&RoundStatus::world_size>("world_size"),
    field<&RoundStatus::began_unix_ms>("began_unix_ms"),
    field<&RoundStatus::ended_unix_ms>("ended_unix_ms"),
    text<&RoundStatus::reason>("reason", kStatusReason),
    field<&RoundStatus::in_place>("in_place"));
template <> inline constexpr auto kFields<PointStatus> = table(
    field<&PointStatus::unix_ms>("unix_ms"), field<&PointStatus::step>("step"),
    field<&PointStatus::has_loss>("has_loss"), field<&PointStatus::loss>("loss"),
    field<&PointStatus::samples_per_second>("samples_per_second"));
template <> inline constexpr auto kFields<JobSummary> = table(
    may_miss(text<&JobSummary::word>("state_word", kStatusName)),  // older ones lack it
    field<&JobSummary::step>("step"), field<&JobSummary::steps>("steps"),
    field<&JobSummary::percent>("progress_percent"),
    field<&JobSummary::left_s>("left_s"), field<&JobSummary::has_loss>("has_loss"),
    field<&JobSummary::loss>("loss"),
    field<&JobSummary::samples_per_second>("samples_per_second"),
    field<&JobSummary::steps_per_second>("steps_per_second"),
    field<&JobSummary::restarts_in_ms>("restarts_in_ms"),
    may_miss(field<&JobSummary::straggler>("straggler")),
    may_miss(list<&JobSummary::debugged>("debugged", kProgressRanksMax)),
    field<&JobSummary::ranks_left_out>("ranks_left_out"));
template <> inline constexpr auto kFields<JobStatus> = table(
    text<&JobStatus::run_id>("run_id", kStatusRunId),
    text<&JobStatus::title>("title", kStatusHost),
    field<&JobStatus::state>("state"), field<&JobStatus::outcome>("outcome"),
    text<&JobStatus::why>("why", kStatusReason),
    field<&JobStatus::round>("round"), field<&JobStatus::attempt>("attempt"),
    field<&JobStatus::restarts_left>("restarts_left"),
    field<&JobStatus::nodes_min>("nodes_min"),
    field<&JobStatus::nodes_max>("nodes_max"),
    text<&JobStatus::witness>("witness", kStatusHost),
    field<&JobStatus::now_unix_ms>("now_unix_ms"),
    field<&JobStatus::began_unix_ms>("began_unix_ms"),
    list<&JobStatus::nodes>("nodes", kStatusNodesMax),
    list<&JobStatus::ranks>("ranks", kStatusRanksMax),
    list<&JobStatus::rounds>("rounds", kStatusRoundsMax),
    list<&JobStatus::history>("history", kStatusPointsMax),
    field<&JobStatus::hang>("hang"), field<&JobStatus::verdict>("verdict"),
    inlined<&JobStatus::summary>());
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
std::tuple<bool, double, std::int64_t, std::int64_t> prominence(const RankStatus& rank) {
  const bool odd = rank.state != RankStatus::State::kRunning &&
                   rank.state != RankStatus::State::kWaiting &&
                   rank.state != RankStatus::State::kFinished;
  constexpr double kLatePercent = 5;  // less is usual
  const double late = rank.late_percent >= kLatePercent ? rank.late_percent : 0;
  return {odd, late, rank.lag, rank.still_ms};
}

void leave_out(JobStatus& status, std::size_t ranks_max) {
  if (status.ranks.size() <= ranks_max) return;
  std::ranges::stable_sort(status.ranks, std::greater<>{}, prominence);
  status.summary.ranks_left_out += static_cast<int>(status.ranks.size() - ranks_max);
  status.ranks.resize(ranks_max);
}

std::string whole_json(const JobStatus& status) {
  return fields::to_text(status, JsonStyle::kAscii, {"schema", kSchema});
}

}  // namespace

void summarize(JobStatus& status) {
  tell_lags(status.ranks);
  add_up(status.summary, status.ranks);
  estimate_end(status.summary, status.history);
  leave_out(status, kStatusRanksMax);
  status.summary.word = word_for(status);
}

std::string_view word_for(const JobStatus& status) {
  if (status.state == JobStatus::State::kEnded) return name_of(status.outcome);
  return status.hang ? "hangs" : name_of(status.state);
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
  return fields::from_text<JobStatus>(json, "status");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed status: "} + unfit.what());
}

std::string_view name_of(JobStatus::State state) { return fields::name_of(state); }
std::string_view name_of(NodeStatus::State state) { return fields::name_of(state); }
std::string_view name_of(RankStatus::State state) { return fields::name_of(state); }

}  // namespace ddprun
