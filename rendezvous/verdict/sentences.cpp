#include "rendezvous/verdict/sentences.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

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

}  // namespace ddprun
