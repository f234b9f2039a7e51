#include "launcher/doctor/check/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ddprun {

void NodeFindings::add(Severity severity, std::string subject, Trouble trouble) {
  if (severity == Severity::kOk) trouble = {std::move(trouble.seen), "", ""};
  found_.push_back({severity, std::move(subject), node_, std::move(trouble.seen),
                    std::move(trouble.why), std::move(trouble.advice)});
}

Severity severity_of(std::int64_t value, std::int64_t needed, std::int64_t wanted) {
  if (value == kUnlimited || value >= wanted) return Severity::kOk;
  return value < needed ? Severity::kFailed : Severity::kWarning;
}

Severity warning_if(bool bad) { return bad ? Severity::kWarning : Severity::kOk; }

Finding all_well(std::string subject, std::string seen) {
  return {Severity::kOk, std::move(subject), kAllNodes, std::move(seen), "", ""};
}

void append(Findings more, Findings& findings) {
  std::ranges::move(more, std::back_inserter(findings));
}

std::string limit_text(std::int64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit);
}

std::string user_text(const GpuProcess& process) {
  return fmt::format("{} (pid {})", process.name.empty() ? "a process" : process.name, process.pid);
}

std::string list_text(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace ddprun
