#include "launcher/live/job_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <tuple>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kRanksShown = 16;
constexpr std::size_t kRoundsShown = 6;
constexpr std::size_t kNameColumns = 24;
constexpr char kLead[] = "  ";  // before each row of a table

const char* color_of(JobStatus::State state) {
  if (state == JobStatus::State::kRunning) return kGreen;
  return state == JobStatus::State::kEnded ? kDim : kYellow;
}
const char* color_of(NodeStatus::State state) {
  if (state == NodeStatus::State::kLost) return kRed;
  return state == NodeStatus::State::kRunning ? kGreen : kYellow;
}
const char* color_of(RankStatus::State state) {
  using State = RankStatus::State;
  if (state == State::kFailed || state == State::kLost || state == State::kMissing) return kRed;
  return state == State::kRunning || state == State::kFinished ? kGreen : kYellow;
}

/// A text of a peer for a cell.
std::string shortened(const std::string& text, std::size_t columns) {
  return cut_columns(plain_line(text), columns);
}

/// The state of the job in one word, for a cell or a line.
Cell state_cell(const JobStatus& status) {
  return {std::string{word_for(status)}, status.hang ? kRed : color_of(status.state)};
}

std::string percent(const JobStatus& status) {
  return status.summary.percent < 0 ? "-"
                                    : fmt::format("{:.0f} %", std::floor(status.summary.percent));
}
std::string steps(std::int64_t step, std::int64_t of) {
  if (step < 0) return "-";
  return of > 0 ? fmt::format("{}/{}", step, of) : std::to_string(step);
}
std::string loss(bool has, double value) { return has ? amount_text(value) : "-"; }
std::string speed(double samples_per_second) {
  return samples_per_second > 0 ? amount_text(samples_per_second) : "-";
}
std::string left(std::int64_t seconds) { return seconds < 0 ? "-" : duration_text(seconds); }
std::string seconds(std::int64_t ms) {
  return ms < 10'000 ? fmt::format("{:.1f} s", static_cast<double>(ms) / 1000)
                     : duration_text(ms / 1000);
}

std::int64_t nodes_in_round(const JobStatus& status) {
  return std::ranges::count_if(status.nodes, [](const NodeStatus& node) {
    using State = NodeStatus::State;
    return node.state == State::kRunning || node.state == State::kFinished ||
           node.state == State::kStopping;
  });
}

std::string time_of_day(std::int64_t unix_ms) {
  const std::time_t when = unix_ms / 1000;
  std::tm local{};
  localtime_r(&when, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string summary(const JobStatus& status, const TextStyle& style) {
  const Cell state = state_cell(status);
  std::string text = fmt::format("job {}: {}", plain_line(status.run_id),
                                 painted(state.text, style.color ? state.color : ""));
  if (!status.why.empty()) text += fmt::format(" ({})", plain_line(status.why));
  if (status.summary.restarts_in_ms > 0)
    text += fmt::format(", restarts in {} s (--restart-delay)",
                        (status.summary.restarts_in_ms - 1) / 1000 + 1);
  else if (status.state == JobStatus::State::kGathering)
    text += fmt::format(", waits for nodes: {} there, {} needed", status.nodes.size(),
                        status.nodes_min);
  if (status.round > 0)
    text += fmt::format(", round {}, attempt {}, {} left", status.round, status.attempt,
                        counted(status.restarts_left, "restart"));
  text += "\n";
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "  " : ", ") + fact; };
  if (!status.title.empty()) add(plain_line(status.title));
  if (status.began_unix_ms > 0)
    add("for " + duration_text((status.now_unix_ms - status.began_unix_ms) / 1000));
  if (status.summary.percent >= 0) add(percent(status));
  if (status.summary.step >= 0) add("step " + steps(status.summary.step, status.summary.steps));
  if (status.summary.has_loss) add("loss " + amount_text(status.summary.loss));
  if (status.summary.samples_per_second > 0)
    add(amount_text(status.summary.samples_per_second) + " samples/s");
  if (status.summary.steps_per_second > 0)
    add(amount_text(status.summary.steps_per_second) + " steps/s");
  if (status.summary.left_s >= 0) add(duration_text(status.summary.left_s) + " left");
  return facts.empty() ? text : text + facts + "\n";
}

std::string hang_text(const HangReport& hang, const TextStyle& style) {
  std::string text =
      "\n" + painted("  it hangs: ", style.color ? kRed : "") + plain_line(hang.sentence) + "\n";
  for (const StackGroup& group : hang.stacks) {
    text += "  " + plain_line(ranks_text(group.ranks) + ": " + group.doing) + "\n";
    const std::vector<Frame> frames = parse_stack_text(group.stack);
    if (const Frame* const frame = user_frame(frames))
      text += "    " + plain_line(frame_text(*frame)) + "\n";
  }
  return text;
}

std::string ranks_of(const NodeStatus& node) {
  if (node.first_rank < 0 || node.workers < 1) return "-";
  const int last = node.first_rank + node.workers - 1;
  return last == node.first_rank ? std::to_string(last)
                                 : fmt::format("{}-{}", node.first_rank, last);
}

/// A line for each node that keeps checkpoints.
std::string kept_text(const JobStatus& status) {
  std::string text;
  for (const NodeStatus& node : status.nodes) {
    if (!node.checkpoints) continue;
    const KeptCheckpoints& kept = *node.checkpoints;
    const std::string newest =
        kept.newest.empty() ? "none is complete yet"
                            : fmt::format("{} ({}) in memory for {}, on disk {}", kept.newest,
                                          bytes_text(kept.bytes), duration_text(kept.age_ms / 1000),
                                          kept.written.empty() ? "none" : kept.written);
    text += plain_line(fmt::format("{}checkpoints of {}: {}", kLead, node.host, newest)) + "\n";
  }
  return text;
}

std::string nodes_text(const JobStatus& status, const TextStyle& style) {
  if (status.nodes.empty()) return "";
  TextTable table{"<<<><", {"NODE", "STATE", "RANKS", "HEARD", ""}};
  for (const NodeStatus& node : status.nodes)
    table.add({{shortened(node.host, kNameColumns)},
               {std::string{name_of(node.state)}, color_of(node.state)},
               {ranks_of(node)},
               {seconds(node.silent_ms)},
               {shortened(node.reason, 60)}});
  if (!status.witness.empty())
    table.add({{shortened(status.witness, kNameColumns)}, {"witness"}, {"-"}, {"-"}, {""}});
  return "\n" + table.text(style.color, kLead) + kept_text(status);
}

std::string host_of(const JobStatus& status, int rank) {
  for (const NodeStatus& node : status.nodes)
    if (node.first_rank >= 0 && rank >= node.first_rank && rank < node.first_rank + node.workers)
      return node.host;
  return "";
}

/// Those that stand out first: the ones that a person looks for.
std::vector<RankStatus> slowest(const JobStatus& status) {
  std::vector<RankStatus> ranks = status.ranks;
  const auto& straggler = status.summary.straggler;
  const RankList late = straggler ? ranks_in(straggler->ranks) : RankList{};
  const auto key = [&](const RankStatus& rank) {
    return std::tuple{std::string_view{color_of(rank.state)} == kRed, has_rank(late, rank.rank),
                      rank.lag};
  };
  std::ranges::stable_sort(ranks, std::greater<>{}, key);
  return ranks;
}

std::string ranks_table(const JobStatus& status, const TextStyle& style, std::size_t shown) {
  if (status.ranks.empty() || shown == 0) return "";
  TextTable table{
      "><<>>>>>><",
      {"RANK", "NODE", "STATE", "STEP", "LAG", "LATE", "LOSS", "SAMPLES/S", "STILL", "WAITS IN"}};
  const auto ranks = slowest(status);
  const std::size_t rows = std::min(shown, ranks.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const RankStatus& rank = ranks[i];
    table.add({{std::to_string(rank.rank)},
               {shortened(host_of(status, rank.rank), kNameColumns)},
               {std::string{name_of(rank.state)}, color_of(rank.state)},
               {steps(rank.step, 0)},
               {rank.step < 0 && rank.collectives < 0 ? "-" : std::to_string(rank.lag)},
               {rank.late_percent < 0 ? "-" : fmt::format("{:.0f} %", rank.late_percent)},
               {loss(rank.has_loss, rank.loss)},
               {speed(rank.samples_per_second)},
               {rank.step < 0 && rank.collectives < 0 ? "-" : seconds(rank.still_ms)},
               {shortened(rank.waits_in, 40)}});
  }
  std::string text = "\n" + table.text(style.color, kLead);
  const std::size_t more =
      ranks.size() - rows + static_cast<std::size_t>(status.summary.ranks_left_out);
  if (more > 0) text += painted(fmt::format("  and {} more\n", more), style.color ? kDim : "");
  return text;
}

std::string end_of(const RoundStatus& round) {
  return shortened(round.reason, 60) + (round.in_place ? "; in place" : "");
}

std::string rounds_text(const JobStatus& status, const TextStyle& style) {
  if (status.rounds.size() < 2 && status.state == JobStatus::State::kRunning) return "";
  if (status.rounds.empty()) return "";
  TextTable table{">>>><><", {"ROUND", "ATTEMPT", "NODES", "RANKS", "BEGAN", "LASTED", "ENDED BY"}};
  const std::size_t first = status.rounds.size() - std::min(status.rounds.size(), kRoundsShown);
  for (std::size_t i = first; i < status.rounds.size(); ++i) {
    const RoundStatus& round = status.rounds[i];
    const bool ended = round.ended_unix_ms > 0;
    const std::int64_t until = ended ? round.ended_unix_ms : status.now_unix_ms;
    table.add({{std::to_string(round.round)},
               {std::to_string(round.attempt)},
               {std::to_string(round.nodes)},
               {std::to_string(round.world_size)},
               {time_of_day(round.began_unix_ms)},
               {seconds(std::max<std::int64_t>(until - round.began_unix_ms, 0))},
               {ended ? end_of(round) : "it runs"}});
  }
  return "\n" + table.text(style.color, kLead);
}

/// As many lines and columns as the terminal has.
std::string fitted(const std::string& text, const TextStyle& style) {
  std::size_t end = style.lines > 0 ? 0 : text.size();
  for (int line = 0; line < style.lines && end < text.size(); ++line)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return cut_lines(std::string_view{text}.substr(0, end), style.columns);
}

std::vector<Cell> row_of(const JobLine& job, std::int64_t now_unix_ms) {
  const JobFacts& facts = job.facts;
  const std::string age =
      duration_text(std::max<std::int64_t>(now_unix_ms - facts.started_unix_ms, 0) / 1000);
  const std::string pid = std::to_string(facts.pid);
  const std::string name = shortened(job.name, kNameColumns);
  const std::string title = shortened(facts.title, 40);
  if (!job.status)
    return {
        {name}, {"no answer", kRed}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {age}, {pid},
        {title}};
  const JobStatus& status = *job.status;
  return {{name},
          state_cell(status),
          {percent(status)},
          {steps(status.summary.step, status.summary.steps)},
          {loss(status.summary.has_loss, status.summary.loss)},
          {speed(status.summary.samples_per_second)},
          {left(status.summary.left_s)},
          {std::to_string(status.restarts_left)},
          {fmt::format("{}/{}", nodes_in_round(status), status.nodes_max)},
          {age},
          {pid},
          {title}};
}

}  // namespace

std::string duration_text(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d", seconds / 86'400);
}

std::string amount_text(double value) {
  if (!std::isfinite(value)) return "NaN";
  if (std::abs(value) < 1000) return fmt::format("{:.4g}", value);
  if (std::abs(value) >= 1e15) return fmt::format("{:.3e}", value);
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string jobs_table(const std::vector<JobLine>& jobs, std::int64_t now_unix_ms,
                       const TextStyle& style) {
  TextTable table{"<<>>>>>>>>><",
                  {"JOB", "STATE", "PROGRESS", "STEP", "LOSS", "SAMPLES/S", "ETA", "RESTARTS LEFT",
                   "NODES", "AGE", "PID", "SCRIPT"}};
  for (const JobLine& job : jobs) table.add(row_of(job, now_unix_ms));
  return fitted(table.text(style.color, kLead), style);
}

std::string status_text(const JobStatus& status, const TextStyle& style) {
  std::string text = summary(status, style);
  if (status.hang) text += hang_text(*status.hang, style);
  if (!status.summary.debugged.empty()) text += "\n";
  for (const std::string& line : lines_of(status.summary.debugged)) text += "  " + line + "\n";
  if (status.summary.straggler)
    text += "\n" + painted("  slow: ", style.color ? kYellow : "") +
            plain_line(status.summary.straggler->sentence) + "\n";
  text += nodes_text(status, style);
  text += ranks_table(status, style, kRanksShown);
  text += rounds_text(status, style);
  return fitted(text, style);
}

}  // namespace ddprun
