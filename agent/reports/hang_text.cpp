#include "agent/reports/hang_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/reports/report_json.hpp"
#include "base/json/json_text.hpp"
#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kLinesMax = 24;
constexpr std::size_t kFramesOfFirst = 8;
constexpr std::size_t kFramesOfOthers = 3;

/// Workers that only wait show the user's own frames: `doing` sums up torch's, which lie above.
std::vector<std::string> frame_lines(const StackGroup& group, bool whole) {
  const std::vector<Frame> frames = parse_stack_text(group.stack);
  const Frame* const own = whole ? nullptr : user_frame(frames);
  const std::size_t from = own == nullptr ? 0 : static_cast<std::size_t>(own - frames.data());
  const std::size_t end =
      std::min(frames.size(), from + (whole ? kFramesOfFirst : kFramesOfOthers));
  std::vector<std::string> lines;
  for (std::size_t i = from; i < end; ++i) lines.push_back("      " + frame_text(frames[i]));
  if (end < frames.size()) lines.back() += fmt::format("  (and {} callers)", frames.size() - end);
  return lines;
}

}  // namespace

std::vector<std::string> hang_lines(const HangReport& report) {
  std::vector<std::string> lines{"the workers hang: " + report.sentence};
  bool first = true;
  std::size_t shown = 0;
  for (const StackGroup& group : report.stacks) {
    const std::vector<std::string> frames = frame_lines(group, first);
    if (lines.size() + frames.size() + 2 > kLinesMax) break;
    lines.push_back(fmt::format("  [{}] {}", group.ranks, group.doing));
    lines.insert(lines.end(), frames.begin(), frames.end());
    first = false;
    ++shown;
  }
  if (shown < report.stacks.size())
    lines.push_back(fmt::format("  and {} other stacks", report.stacks.size() - shown));
  return lines;
}

namespace {

using report_json::Json;

std::string what_is_dumped(const JobDump& dump, const std::string& job) {
  const std::string name = "job " + job + ": ";
  if (dump.world_size == 0) return name + "no workers run, " + dump.why;
  std::string text =
      fmt::format("{}round {}, {} on {}, looked at for {} ms", name, dump.round,
                  counted(dump.world_size, "worker"), counted(dump.nodes, "node"), dump.took_ms);
  return dump.why.empty() ? text : text + "; " + dump.why;
}

/// "gloo:all_reduce, number 12 of group 0 (default_pg)".
std::string operation_text(const DumpWait& wait) {
  std::string text = wait.operation;
  if (wait.sequence > 0) text += fmt::format(", number {}", wait.sequence);
  if (!wait.group.empty()) text += (wait.sequence > 0 ? " of group " : " in group ") + wait.group;
  return text;
}

std::string wait_line(const DumpWait& wait) {
  const std::string waiting =
      ranks_text(wait.waiting_ranks) + (are_many(wait.waiting_ranks) ? " wait" : " waits");
  if (wait.missing_ranks.empty())
    return fmt::format("{} in {}, and nobody is missing", waiting, operation_text(wait));
  return fmt::format("{} in {}, which {} {} not reached", waiting, operation_text(wait),
                     ranks_text(wait.missing_ranks), are_many(wait.missing_ranks) ? "have" : "has");
}

class DumpLines {
 public:
  /// What peers and workers have written gets no chance to be an order to the terminal.
  void add(const std::string& line) { text_ += plain_line(line) + "\n"; }
  void end_paragraph() {
    if (!text_.ends_with("\n\n")) text_ += "\n";
  }
  std::string take() {
    while (text_.ends_with("\n\n")) text_.pop_back();
    return std::move(text_);
  }

 private:
  std::string text_;
};

Json wait_json(const DumpWait& wait) {
  Json out{{"operation", wait.operation}};
  report_json::put(out, "group", wait.group);
  if (wait.sequence > 0) out["sequence"] = wait.sequence;
  report_json::put_ranks(out, "waiting_ranks", wait.waiting_ranks);
  report_json::put_ranks(out, "missing_ranks", wait.missing_ranks);
  return out;
}

Json unheard_json(const DumpUnheard& unheard) {
  Json out{{"node", unheard.node}};
  report_json::put_ranks(out, "ranks", unheard.ranks);
  out["reason"] = unheard.reason;
  return out;
}

Json head_json(const JobDump& dump, const std::string& job) {
  Json out{{"schema", kDumpSchema}, {"job", job}, {"state", dump.state}};
  report_json::put(out, "why", dump.why);
  out["round"] = dump.round;
  out["attempt"] = dump.attempt;
  out["world_size"] = dump.world_size;
  out["nodes"] = dump.nodes;
  out["took_ms"] = dump.took_ms;
  return out;
}

}  // namespace

std::string dump_text(const JobDump& dump, const std::string& job) {
  DumpLines lines;
  lines.add(what_is_dumped(dump, job));
  if (dump.hang) lines.add("the workers hang: " + dump.hang->sentence);
  for (const DumpWait& wait : dump.waits) lines.add(wait_line(wait));
  lines.end_paragraph();
  for (const StackGroup& group : dump.stacks) {
    lines.add(fmt::format("[{}] {}", group.ranks, group.doing));
    for (const Frame& frame : parse_stack_text(group.stack)) lines.add("    " + frame_text(frame));
  }
  if (dump.stacks_left_out > 0)
    lines.add(fmt::format("and {}", counted(dump.stacks_left_out, "other stack")));
  for (const DumpUnheard& each : dump.unheard)
    lines.add(fmt::format("[{}] unknown, on {}: {}", each.ranks, each.node, each.reason));
  return lines.take();
}

std::string dump_json(const JobDump& dump, const std::string& job) {
  Json out = head_json(dump, job);
  if (dump.hang) out["hang"] = report_json::of_hang(*dump.hang);
  for (const DumpWait& wait : dump.waits) out["waits"].push_back(wait_json(wait));
  if (!dump.stacks.empty()) out["stacks"] = report_json::of_stacks(dump.stacks);
  if (dump.stacks_left_out > 0) out["stacks_left_out"] = dump.stacks_left_out;
  for (const DumpUnheard& each : dump.unheard) out["unheard"].push_back(unheard_json(each));
  return json_text(out, JsonStyle::kIndented) + "\n";
}

}  // namespace ddprun
