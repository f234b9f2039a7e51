#include "rendezvous/verdict/causes.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kMessageBytesMax = 240;

/// The first line of a text, cut to a sentence's length.
std::string first_line(const std::string& text) {
  return cut(text.substr(0, text.find('\n')), {kMessageBytesMax});
}

std::string behind_colon(const std::string& text) {
  const std::string line = first_line(text);
  return line.empty() ? "" : ": " + line;
}

std::string who(const Cause& cause) {
  return ranks_text(cause.ranks) + (cause.node.empty() ? "" : " on " + cause.node);
}

std::string where(const Fault& fault) {
  const std::string place = place_text(fault);
  if (place.empty()) return "";
  const bool named = !fault.function.empty() && fault.function != "<module>";
  return " at " + place + (named ? " in " + fault.function : "");
}

std::string ended_how(const Cause& cause) { return describe(cause.status, are_many(cause.ranks)); }

std::string sentence(const Cause& cause, const std::string& says) {
  switch (cause.kind) {
    case FailureKind::kException:
      if (cause.status.ok())
        return who(cause) + " exited with code 0 after printing " + fault_text(cause.fault);
      return who(cause) +
             (cause.fault.type.find("Sanitizer") == std::string::npos ? " raised "
                                                                      : " was ended by ") +
             fault_text(cause.fault);
    case FailureKind::kSignal:
      return who(cause) + " " + ended_how(cause) + where(cause.fault) +
             behind_colon(cause.fault.type) + behind_colon(cause.fault.message);
    case FailureKind::kOutOfMemory:
      return who(cause) + " " + ended_how(cause) + behind_colon(says);
    case FailureKind::kCannotStart:
      return who(cause) + " could not be started" + behind_colon(says);
    case FailureKind::kNodeLost:
      return "node " + cause.node + " was lost" + behind_colon(says);
    case FailureKind::kHang:
      return first_line(says);
    case FailureKind::kExitCode:
      break;
  }
  if (cause.status.ok()) return who(cause) + " exited with code 0 while others still worked";
  return who(cause) + " " + ended_how(cause) + where(cause.fault) + behind_colon(says);
}

}  // namespace

std::string place_text(const Fault& fault) {
  if (fault.file.empty()) return "";
  const std::string name = fault.file.substr(fault.file.rfind('/') + 1);
  return fault.line > 0 ? name + ":" + std::to_string(fault.line) : name;
}

std::string fault_text(const Fault& fault) {
  if (fault.type.empty()) return "";
  return plain_line(fault.type + where(fault) + behind_colon(fault.message));
}

std::string sentence_of(const Cause& cause, const std::string& says) {
  return plain_line(sentence(cause, says));
}

std::string history_text(int times, const Cause& cause, std::int64_t gained) {
  if (times < 2) return "";
  const std::string place = place_text(cause.fault);
  std::string same = cause.fault.type.empty() ? "end" : cause.fault.type;
  if (cause.fault.type.empty() && cause.status.signal != 0)
    same = signal_name(cause.status.signal);
  else if (cause.fault.type.empty() && cause.kind == FailureKind::kExitCode)
    same = "exit code " + std::to_string(cause.status.code);
  std::string text = "failed " + std::to_string(times) + " times" +
                     (place.empty() ? "" : " at " + place) + " with the same " + same;
  if (gained == 0) text += ", no step gained";
  if (gained > 0) text += ", " + std::to_string(gained) + " steps gained";
  return plain_line(text);
}

namespace {

/// Numbers (pids, ports, addresses) differ from one attempt to the next.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) out += c;
    if (digit && !out.ends_with('#')) out += '#';
  }
  return out;
}

}  // namespace

std::string fingerprint_of(const WorkerEnd& end) {
  const Fault& fault = end.fault;
  const std::string at = fault.line > 0 ? " at " + place_text(fault) : "";
  if (end.kind == FailureKind::kNodeLost) return "node lost";
  if (end.kind == FailureKind::kHang)
    return "hang" + (at.empty() && !fault.type.empty() ? " in " + fault.type : at);
  if (!fault.type.empty())
    return fault.type + (at.empty() ? ": " + without_numbers(fault.message) : at);
  if (end.kind == FailureKind::kOutOfMemory) return "out of memory";
  if (end.status.ok()) return "left early";
  std::string how = describe(end.status);
  if (end.status.signal != 0 || fault.message.empty()) return how;
  return how + ": " + without_numbers(fault.message);
}

WorkerEnd end_of(const HangReport& hang) {
  WorkerEnd end{.ranks = hang.missing_ranks.empty() ? hang.waiting_ranks : hang.missing_ranks,
                .kind = FailureKind::kHang};
  end.says = hang.sentence;
  end.fault.type = hang.operation;
  if (hang.stacks.empty()) return end;
  Raised raised{end.fault, parse_stack_text(hang.stacks.front().stack)};
  place(raised);
  end.fault = raised.fault;
  return end;
}

Cause cause_of(const WorkerEnd& end, const std::string& node) {
  Cause cause{.kind = end.kind, .ranks = end.ranks, .node = node, .status = end.status};
  cause.fault = end.fault;
  if (end.kind == FailureKind::kHang) cause.fault.type.clear();  // an operation, and no exception
  cause.stack = end.stack;
  cause.sentence = sentence_of(cause, end.says);
  cause.hint = end.hint;
  if (end.kind == FailureKind::kException && end.status.ok() && cause.hint.empty())
    cause.hint =
        "a rank that fails must exit with another code than 0; in a shell, set -o pipefail, or "
        "exec";
  if (end.kind == FailureKind::kExitCode && end.status.ok())
    cause.hint =
        "ranks must do the same number of steps: uneven data (drop_last, Join), or an early return";
  cause.fingerprint = fingerprint_of(end);
  return cause;
}

bool are_alike(const WorkerEnd& some, const WorkerEnd& other) {
  if (other.blame != some.blame || other.kind != some.kind) return false;
  if (some.blame == Blame::kStopped) return true;
  if (some.blame == Blame::kDone && some.kind != FailureKind::kException) return true;
  if (some.blame == Blame::kFollows && some.consequence != Consequence::kForeignSignal)
    return other.consequence == some.consequence;
  return fingerprint_of(other) == fingerprint_of(some);
}

std::vector<WorkerEnd> fold_ends(std::vector<WorkerEnd> ends, std::size_t most) {
  std::ranges::sort(ends, {}, [](const WorkerEnd& end) {
    return std::tuple{end.blame, end.began_us, end.ranks};
  });
  std::vector<WorkerEnd> folded;
  for (WorkerEnd& end : ends) {
    const auto alike =
        std::ranges::find_if(folded, [&](const WorkerEnd& other) { return are_alike(other, end); });
    if (alike == folded.end()) {
      folded.push_back(std::move(end));
      continue;
    }
    alike->ranks = united(alike->ranks, end.ranks);
    alike->ended_us = std::min(alike->ended_us, end.ended_us);
  }
  if (folded.size() > most) folded.resize(most);
  return folded;
}

}  // namespace ddprun
