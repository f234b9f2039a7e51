// What a check has found out about a node. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// How bad it is. A warning is worth a look; with a failure, a job will probably not run.
enum class Severity : std::uint8_t { kOk, kWarning, kFailed };

/// A check has one finding, or one for each thing that it looks at.
struct Finding {
  Severity severity = Severity::kOk;
  std::string subject;  // a short name that stays, for programs: "shm"
  std::string node;     // the name of the node that it is about
  std::string seen;     // the state there, in words
  std::string why;      // why that matters; "" if all is well
  std::string advice;   // a way to mend it; "" if all is well
};

using Findings = std::vector<Finding>;

}  // namespace ddprun
