#include "agent/reports/job_report.hpp"

#include "agent/reports/changes_fields.hpp"
#include "agent/reports/report_json.hpp"
#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/report_fields.hpp"

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
  Json stacks = Json::array();
  if (report.hang)
    for (const StackGroup& group : report.hang->stacks)
      stacks.push_back(report_json::of_stack(group.ranks, group.doing, group.stack));
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
  if (report.goodput) out["goodput"] = fields::to_object(*report.goodput);
  if (report.changed) out["changed_since_good_run"] = Json(fields::to_object(*report.changed));
  return json_text(out, JsonStyle::kIndented) + "\n";
}

}  // namespace ddprun
