#include "rendezvous/verdict/causes.hpp"

#include <cctype>

#include "rendezvous/verdict/crash.hpp"
#include "rendezvous/verdict/sentences.hpp"

namespace ddprun {

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

}  // namespace ddprun
