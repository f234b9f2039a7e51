#include "agent/hang_verdict.hpp"

#include <filesystem>

#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

Verdict verdict_on(const HangReport& hang) {
  Verdict verdict;
  Cause& cause = verdict.cause;
  cause.kind = FailureKind::kHang;
  cause.ranks = hang.missing_ranks.empty() ? hang.waiting_ranks : hang.missing_ranks;
  cause.sentence = hang.sentence;
  cause.fingerprint = "hang";
  if (hang.stacks.empty()) return verdict;
  const std::vector<Frame> frames = parse_stack_text(hang.stacks.front().stack);
  if (const Frame* frame = user_frame(frames)) {
    cause.fault.function = frame->function;
    cause.fault.file = frame->file;
    cause.fault.line = frame->line;
    cause.fingerprint += " at " + std::filesystem::path{frame->file}.filename().string() + ":" +
                         std::to_string(frame->line);
  }
  return verdict;
}

}  // namespace ddprun
