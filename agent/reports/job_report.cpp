#include "agent/reports/job_report.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "agent/reports/changes_fields.hpp"
#include "agent/reports/report_json.hpp"
#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/report_fields.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<ContinuedRound> = table(
    field<&ContinuedRound::round>("round"),
    text<&ContinuedRound::checkpoint>("checkpoint", kCheckpointName),
    field<&ContinuedRound::bytes_from_disk>("bytes_from_disk"),
    if_any(text<&ContinuedRound::failing>("failing", kCheckpointName)));
// clang-format on

}  // namespace ddprun::fields

namespace ddprun {

namespace {

using report_json::Json;
using report_json::put;
using report_json::put_ranks;

Json cause_json(const Cause& cause) {
  Json out{{"kind", fields::name_of(cause.kind)}};
  put_ranks(out, "ranks", cause.ranks);
  put(out, "node", cause.node);
  if (cause.kind != FailureKind::kHang && cause.kind != FailureKind::kNodeLost) {
    if (cause.status.signal != 0)
      out["signal"] = signal_name(cause.status.signal);
    else
      out["exit_code"] = cause.status.code;
  }
  if (!cause.fault.type.empty()) out["exception"] = report_json::of_exception(cause.fault);
  out["sentence"] = cause.sentence;
  put(out, "hint", cause.hint);
  put(out, "fingerprint", cause.fingerprint);
  return out;
}

Json follower_json(const Followers& followers) {
  Json out;
  out["ranks"] = ranks_in(followers.ranks);
  out["kind"] = fields::name_of(followers.kind);
  put(out, "what", followers.what);
  out["after_ms"] = static_cast<double>(followers.after_us) / 1000.0;
  out["stopped_by_launcher"] = followers.stopped_by_us;
  return out;
}

Json past_json(const PastHang& past) {
  Json out = report_json::of_hang(past.hang);
  if (past.lasted_ms >= 0) out["lasted_ms"] = past.lasted_ms;
  return out;
}

Json stacks_of(const JobReport& report) {
  Json stacks = report.hang ? report_json::of_stacks(report.hang->stacks) : Json::array();
  if (report.verdict && !report.verdict->cause.stack.empty())
    stacks.push_back(
        report_json::of_stack(report.verdict->cause.ranks, "", report.verdict->cause.stack));
  return stacks;
}

void put_verdict(Json& out, const Verdict& verdict) {
  out["cause"] = cause_json(verdict.cause);
  for (const Cause& also : verdict.also) out["also"].push_back(cause_json(also));
  put(out, "history", verdict.history);
  put(out, "no_restart", verdict.no_restart);
}

}  // namespace

std::string to_json(const JobReport& report) {
  Json out{{"schema", kReportSchema}, {"job", report.job}, {"outcome", name_of(report.outcome)}};
  if (report.outcome != JobOutcome::kRunning) out["exit_code"] = report.exit_code;
  put(out, "sentence", report.sentence);
  if (report.verdict) put_verdict(out, *report.verdict);
  if (report.worker) out["worker"] = Json(fields::to_object(*report.worker));
  put(out, "log_file", report.log_file);
  if (report.restarts_max > 0) {
    out["restarts_used"] = report.restarts_used;
    out["max_restarts"] = report.restarts_max;
    put(out, "restart_budget", report.restart_budget);
  }
  put(out, "node_note", report.node_note);
  if (report.hang) out["hang"] = report_json::of_hang(*report.hang);
  for (const PastHang& past : report.past_hangs) out["past_hangs"].push_back(past_json(past));
  if (Json stacks = stacks_of(report); !stacks.empty()) out["stacks"] = std::move(stacks);
  if (report.verdict)
    for (const Followers& each : report.verdict->followers)
      out["followers"].push_back(follower_json(each));
  for (const RestartTimes& each : report.restarts)
    out["restarts"].push_back(Json(fields::to_object(each)));
  for (const ContinuedRound& each : report.continued)
    out["continued"].push_back(Json(fields::to_object(each)));
  if (report.goodput) out["goodput"] = fields::to_object(*report.goodput);
  if (report.changed) out["changed_since_good_run"] = Json(fields::to_object(*report.changed));
  return json_text(out, JsonStyle::kIndented) + "\n";
}

namespace {

using fields::json;
using fields::Unfit;

/// The value of that name; null where there is none.
const json& at(const json& in, const char* name) {
  static const json kNone;
  if (!in.is_object()) fields::unfit(name, in, "an object");
  const auto found = in.find(name);
  return found == in.end() ? kNone : *found;
}

std::string text_at(const json& in, const char* name) {
  const json& value = at(in, name);
  return value.is_null() ? "" : fields::text_from(value, name);
}

template <typename Int>
Int integer_at(const json& in, const char* name, Int otherwise) {
  const json& value = at(in, name);
  return value.is_null() ? otherwise : fields::integer_from<Int>(value, name);
}

const json& list_at(const json& in, const char* name) {
  const json& value = at(in, name);
  if (!value.is_null() && !value.is_array()) fields::unfit(name, value, "a list");
  return value;
}

std::string ranks_at(const json& in, const char* name) {
  std::vector<int> ranks;
  for (const json& each : list_at(in, name)) ranks.push_back(fields::integer_from<int>(each, name));
  return format_number_list(ranks);
}

int signal_of(const std::string& name) {
  for (int number = 1; number < NSIG; ++number)
    if (signal_name(number) == name) return number;
  return 0;
}

Fault fault_from(const json& in) {
  return {text_at(in, "type"), text_at(in, "message"), text_at(in, "file"),
          integer_at(in, "line", 0), text_at(in, "function")};
}

Cause cause_from(const json& in) {
  Cause cause{.kind = fields::enum_from<FailureKind>(at(in, "kind"), "kind"),
              .ranks = ranks_at(in, "ranks"),
              .node = text_at(in, "node")};
  cause.status = {.code = integer_at(in, "exit_code", 0),
                  .signal = signal_of(text_at(in, "signal"))};
  if (const json& exception = at(in, "exception"); !exception.is_null())
    cause.fault = fault_from(exception);
  cause.sentence = text_at(in, "sentence");
  cause.hint = text_at(in, "hint");
  cause.fingerprint = text_at(in, "fingerprint");
  return cause;
}

Followers followers_from(const json& in) {
  const json& after = at(in, "after_ms");
  const json& stopped = at(in, "stopped_by_launcher");
  Followers out{.ranks = ranks_at(in, "ranks"),
                .kind = fields::enum_from<FailureKind>(at(in, "kind"), "kind"),
                .what = text_at(in, "what")};
  if (!after.is_null())
    out.after_us = static_cast<std::int64_t>(1000 * fields::number_from(after, "after_ms"));
  if (!stopped.is_null())
    out.stopped_by_us = fields::value_from<bool>(stopped, "stopped_by_launcher");
  return out;
}

HangReport hang_from(const json& in) {
  HangReport hang{.sentence = text_at(in, "sentence"),
                  .operation = text_at(in, "operation"),
                  .group = text_at(in, "group"),
                  .sequence = integer_at(in, "sequence", std::int64_t{0}),
                  .missing_ranks = ranks_at(in, "missing_ranks"),
                  .waiting_ranks = ranks_at(in, "waiting_ranks"),
                  .silent_ms = integer_at(in, "silent_ms", std::int64_t{0})};
  for (const json& line : list_at(in, "nccl")) hang.nccl.push_back(fields::text_from(line, "nccl"));
  return hang;
}

StackGroup stack_from(const json& in) {
  std::vector<Frame> frames;
  for (const json& each : list_at(in, "frames"))
    frames.push_back(
        {text_at(each, "function"), text_at(each, "file"), integer_at(each, "line", 0)});
  return {.ranks = ranks_at(in, "ranks"),
          .doing = text_at(in, "doing"),
          .stack = stack_text(frames, fields::kStack.bytes)};
}

Verdict verdict_from(const json& in) {
  Verdict verdict{.cause = cause_from(at(in, "cause")),
                  .history = text_at(in, "history"),
                  .no_restart = text_at(in, "no_restart")};
  for (const json& also : list_at(in, "also")) verdict.also.push_back(cause_from(also));
  for (const json& each : list_at(in, "followers"))
    verdict.followers.push_back(followers_from(each));
  return verdict;
}

JobReport report_from(const json& in) {
  const std::string schema = text_at(in, "schema");
  if (schema != kReportSchema)
    throw Unfit{"its schema is '" + schema + "', and '" + kReportSchema + "' was expected"};
  JobReport report{.job = text_at(in, "job"),
                   .outcome = fields::enum_from<JobOutcome>(at(in, "outcome"), "outcome"),
                   .exit_code = integer_at(in, "exit_code", 0),
                   .sentence = text_at(in, "sentence")};
  if (!at(in, "cause").is_null()) report.verdict = verdict_from(in);
  if (const json& worker = at(in, "worker"); !worker.is_null())
    report.worker = fields::from_object<WorkerFailure>(worker, "worker");
  report.log_file = text_at(in, "log_file");
  report.restarts_used = integer_at(in, "restarts_used", 0);
  report.restarts_max = integer_at(in, "max_restarts", 0);
  report.restart_budget = text_at(in, "restart_budget");
  report.node_note = text_at(in, "node_note");
  if (const json& hang = at(in, "hang"); !hang.is_null()) {
    report.hang = hang_from(hang);
    for (const json& each : list_at(in, "stacks")) report.hang->stacks.push_back(stack_from(each));
  }
  for (const json& past : list_at(in, "past_hangs"))
    report.past_hangs.push_back({hang_from(past), integer_at(past, "lasted_ms", std::int64_t{-1})});
  for (const json& each : list_at(in, "restarts"))
    report.restarts.push_back(fields::from_object<RestartTimes>(each, "restarts"));
  for (const json& each : list_at(in, "continued"))
    report.continued.push_back(fields::from_object<ContinuedRound>(each, "continued"));
  if (const json& goodput = at(in, "goodput"); !goodput.is_null())
    report.goodput = fields::from_object<Goodput>(goodput, "goodput");
  if (const json& changed = at(in, "changed_since_good_run"); !changed.is_null())
    report.changed = fields::from_object<SinceGoodRun>(changed, "changed_since_good_run");
  return report;
}

}  // namespace

Result<JobReport> parse_report(std::string_view text) try {
  const auto in = parse_json(text);
  if (!in) return invalid("it is no JSON");
  return report_from(**in);
} catch (const Unfit& unfit) {
  return invalid(unfit.what());
}

}  // namespace ddprun
