#include "agent/reports/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/reports/hang_text.hpp"
#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "rendezvous/verdict/causes.hpp"

namespace ddprun {

namespace {

std::string duration(double ms) {
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 10 ? 1 : 0);
}

/// "1.0 s in 2 restarts and 1 change of members"; "" where there was neither.
std::string in_restarts(const Goodput& times) {
  std::string what;
  if (times.restarts > 0) what = counted(times.restarts, "restart");
  if (times.changes > 0)
    what += (what.empty() ? "" : " and ") + counted(times.changes, "change") + " of members";
  if (what.empty()) return "";
  const bool has_first_steps = times.startup_s >= 0 || times.goodput_percent >= 0;
  return fmt::format(
      "{:.1f} s in {}{}", times.restarts_s, what,
      has_first_steps ? "" : ", without the time to a first step, which is not known");
}

/// "12 steps done again".
std::string again_text(std::int64_t steps, bool at_least) {
  return (at_least ? "at least " : "") + counted(steps, "step") + " done again";
}

std::string steps_again(const Goodput& times) {
  if (times.lost_steps <= 0) return "";
  return fmt::format("{} ({:.1f} s)", again_text(times.lost_steps, times.lost_at_least),
                     times.lost_s);
}

}  // namespace

std::string times_text(const RestartTimes& times) {
  std::string parts;
  const auto add = [&](const char* what, double ms) {
    if (ms >= 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", what, duration(ms));
  };
  add("noticed", times.detected_ms);
  add(times.in_place ? "left" : "stopped", times.stopped_ms);
  add("sealed", times.sealed_ms);
  add("started", times.started_ms);
  add(times.first_step_seen ? "first step at most" : "first step", times.first_step_ms);
  if (times.awaits_step) parts += ", no step yet";
  return fmt::format("round {} \u2192 {}{} ({}){}", times.from_round, times.round,
                     times.in_place ? " in place" : "", times.reason, parts);
}

std::string times_text(const Goodput& times) {
  std::string text = fmt::format("{:.1f} s in all", times.wall_s);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += ", " + part;
  };
  const bool has_goodput = times.goodput_percent >= 0;
  if (times.startup_s >= 0) add(fmt::format("{:.1f} s of start-up", times.startup_s));
  if (has_goodput) add(fmt::format("{:.1f} s in training", times.training_s));
  add(in_restarts(times));
  if (!has_goodput) return text;
  add(steps_again(times));
  return text + fmt::format(": goodput {}{:.1f} %", times.lost_at_least ? "at most " : "",
                            times.goodput_percent);
}

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kQuotedMax = 6;
constexpr std::size_t kQuotedBytesMax = 200;
constexpr std::size_t kRecordLinesMax = 3;
constexpr std::size_t kFollowersShown = 4;
constexpr std::size_t kPlacesShown = 3;

/// faulthandler adds the names of all loaded modules, which say nothing about the failure, and
/// since Python 3.14 a stack of C functions. Its last lines, which would be quoted, are Python's
/// own start.
bool says_something(const std::string& line) {
  return line.find_first_not_of(" \t\r") != std::string::npos &&
         line.find("Extension modules: ") == std::string::npos &&
         line.find("  Binary file \"") == std::string::npos;
}

void quote(Lines& out, const char* title, const Lines& lines) {
  if (lines.empty()) return;
  out.emplace_back(title);
  for (const std::string& line : lines) out.push_back("  | " + cut(line, {kQuotedBytesMax}));
}

std::string headline(const JobReport& report) {
  if (!report.verdict)
    return fmt::format("the job {}: {}",
                       report.outcome == JobOutcome::kFinished ? "finished" : "did not finish",
                       report.sentence);
  const bool hung = report.outcome == JobOutcome::kHung;
  return (hung ? "the job was stopped because its workers hang: " : "the job failed: ") +
         report.verdict->cause.sentence;
}

/// Which process it was. The headline tells how it ended, unless it tells of an exception.
std::string process_line(const WorkerFailure& worker, const Cause& cause) {
  std::string line = are_many(cause.ranks) ? fmt::format("first: rank {}, ", worker.rank)
                                           : std::string{"process: "};
  line += fmt::format("local rank {}, pid {}", worker.local_rank, worker.pid);
  return cause.kind == FailureKind::kException ? line + ", " + describe(worker.status) : line;
}

std::string restarts_line(const JobReport& report) {
  std::string line;
  if (report.restarts_used > 0)
    line = report.restart_budget.empty()
               ? fmt::format("restarts: {} of {}", report.restarts_used, report.restarts_max)
               : fmt::format("restarts: {} (--max-restarts {})", report.restarts_used,
                             report.restart_budget);
  const std::string history = report.verdict ? report.verdict->history : "";
  if (!line.empty() && !history.empty()) line += "; it ";
  return line + history;
}

/// "round 2 continued from checkpoint-500, from memory: 3 steps done again".
std::string continued_line(const ContinuedRound& round, const JobReport& report) {
  std::string line = fmt::format("round {} continued from {}", round.round,
                                 origin_of(round.checkpoint, round.bytes_from_disk, round.failing));
  const auto restart = std::ranges::find(report.restarts, round.round, &RestartTimes::round);
  if (restart == report.restarts.end() || restart->steps_again < 0) return line;
  return line + ": " + again_text(restart->steps_again, restart->again_at_least);
}

/// "rank 0: connection reset, 12 ms later", "ranks 3-63: stopped by ddprun".
std::string follower(const Followers& followers) {
  std::string who = ranks_text(followers.ranks) + ": " + followers.what;
  const std::int64_t ms = (followers.after_us + 500) / 1000;
  if (followers.stopped_by_us) return who;
  return who + (ms == 0 ? ", at once" : fmt::format(", {} ms later", ms));
}

std::string followers_line(const std::vector<Followers>& followers) {
  std::string line;
  const std::size_t shown = std::min(followers.size(), kFollowersShown);
  for (std::size_t i = 0; i < shown; ++i)
    line += (i == 0 ? "then: " : "; ") + follower(followers[i]);
  if (shown < followers.size()) line += fmt::format("; {} more", followers.size() - shown);
  return line;
}

/// The last that the worker wrote, where it is not known better or was not seen.
void quote_worker(Lines& out, const JobReport& report, Output output) {
  const WorkerFailure& worker = *report.worker;
  const Cause& cause = report.verdict->cause;
  const bool known = !cause.fault.type.empty();
  if (!known && cause.sentence.find(worker.message) == std::string::npos) {
    Lines record = split_lines(worker.message);
    if (record.size() > kRecordLinesMax) record.resize(kRecordLinesMax);
    quote(out, "it recorded:", record);
  }
  if (worker.last_lines.empty() && !known && cause.kind == FailureKind::kExitCode)
    out.emplace_back("it wrote nothing to its output (sys.exit or os._exit?)");
  if (known && output == Output::kShown) return;
  Lines last;
  std::ranges::copy_if(worker.last_lines, std::back_inserter(last), says_something);
  if (last.size() == 1 && cause.sentence.find(last.front()) != std::string::npos) return;
  const std::size_t most =
      kQuotedMax - (report.changed ? 1 : 0) - (report.continued.empty() ? 0 : 1);
  if (last.size() > most) last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(most));
  quote(out, "its last lines:", last);
}

void tell_worker(Lines& out, const JobReport& report, Output output) {
  const WorkerFailure& worker = *report.worker;
  out.push_back(process_line(worker, report.verdict->cause));
  if (!worker.evidence.empty() &&
      report.verdict->cause.sentence.find(worker.evidence) == std::string::npos)
    out.push_back(worker.evidence);
  if (!worker.last_heartbeat.empty()) out.push_back("last heartbeat: " + worker.last_heartbeat);
  quote_worker(out, report, output);
}

/// Where those are for whom the others wait: the headline says only in what they wait.
void tell_places(Lines& out, const HangReport& hang) {
  const RankList missing = ranks_in(hang.missing_ranks);
  std::size_t shown = 0;
  for (const StackGroup& group : hang.stacks)
    if (share_a_rank(ranks_in(group.ranks), missing) && shown++ < kPlacesShown)
      out.push_back("where: " + ranks_text(group.ranks) + ": " + group.doing);
}

/// All below the headline.
Lines details(const JobReport& report, Output output) {
  Lines lines;
  if (!report.verdict) return lines;
  const Verdict& verdict = *report.verdict;
  if (report.worker) tell_worker(lines, report, output);
  if (verdict.cause.kind == FailureKind::kHang && report.hang) tell_places(lines, *report.hang);
  if (!report.sentence.empty() && report.sentence != verdict.cause.sentence)
    lines.push_back(report.sentence);
  for (const Cause& also : verdict.also) lines.push_back("also: " + also.sentence);
  lines.push_back(followers_line(verdict.followers));
  lines.push_back(restarts_line(report));
  if (!report.continued.empty()) lines.push_back(continued_line(report.continued.back(), report));
  if (!verdict.no_restart.empty()) lines.push_back("no further restart: " + verdict.no_restart);
  if (!report.node_note.empty()) lines.push_back("the last round ran " + report.node_note);
  if (report.changed) lines.push_back(changes_text(*report.changed));
  if (!verdict.cause.hint.empty()) lines.push_back("help: " + verdict.cause.hint);
  if (!report.log_file.empty()) lines.push_back("log: " + report.log_file);
  std::erase(lines, "");
  return lines;
}

/// One text of whatever a worker or another node has said, without orders to the terminal.
std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += plain_line(line) + '\n';
  return text;
}

}  // namespace

std::string report_text(const JobReport& report, Output output) {
  Lines lines{headline(report)};
  for (const std::string& line : details(report, output)) lines.push_back("  " + line);
  return text_of(lines);
}

std::string explain_text(const JobReport& report) {
  Lines lines;
  std::string text;
  if (report.outcome != JobOutcome::kRunning)
    text = report_text(report, Output::kNotShown);
  else if (!report.hang)
    lines.push_back(report.sentence);
  if (report.hang) std::ranges::move(hang_lines(*report.hang), std::back_inserter(lines));
  for (const PastHang& past : report.past_hangs)
    lines.push_back(fmt::format(
        "before: {}{}", past.hang.sentence,
        past.lasted_ms < 0 ? "; then a new round began"
                           : fmt::format("; they went on after {} s", past.lasted_ms / 1000)));
  for (const RestartTimes& each : report.restarts) lines.push_back(times_text(each));
  // The failure's own lines have the last one.
  const std::size_t above = report.verdict && !report.continued.empty() ? 1 : 0;
  for (std::size_t i = 0; i + above < report.continued.size(); ++i)
    lines.push_back(continued_line(report.continued[i], report));
  if (report.goodput) lines.push_back(times_text(*report.goodput));
  return text + text_of(lines);
}

}  // namespace ddprun
