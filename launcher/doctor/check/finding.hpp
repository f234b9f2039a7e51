// What a check has found out about a node, and how it writes that down. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launcher/doctor/read/reading.hpp"

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

/// The node of a finding that is about all nodes together. A report for people calls it otherwise.
inline constexpr char kAllNodes[] = "all nodes";

using Findings = std::vector<Finding>;

/// What is wrong, in sentences for people.
struct Trouble {
  std::string seen;
  std::string why;
  std::string advice;
};

/// The findings on one node.
class NodeFindings {
 public:
  explicit NodeFindings(std::string node) : node_{std::move(node)} {}

  /// If all is well, only what was seen of a trouble is kept.
  void add(Severity severity, std::string subject, Trouble trouble);

  void ok(std::string subject, std::string seen) {
    add(Severity::kOk, std::move(subject), {std::move(seen), "", ""});
  }
  void warn(std::string subject, Trouble trouble) {
    add(Severity::kWarning, std::move(subject), std::move(trouble));
  }
  void fail(std::string subject, Trouble trouble) {
    add(Severity::kFailed, std::move(subject), std::move(trouble));
  }
  Findings take() { return std::move(found_); }

 private:
  std::string node_;
  Findings found_;
};

/// Below what is needed it is a failure, below what is wanted a warning. kUnlimited is enough.
Severity severity_of(std::int64_t value, std::int64_t needed, std::int64_t wanted);

/// kWarning, or kOk.
Severity warning_if(bool bad);

/// That all is well between the nodes.
Finding all_well(std::string subject, std::string seen);

/// Moves findings behind others.
void append(Findings more, Findings& findings);

/// "4096", "unlimited".
std::string limit_text(std::int64_t limit);

/// A user of a GPU: "python3 (pid 7)"; "a process (pid 7)" where it has no name.
std::string user_text(const GpuProcess& process);

/// The user of a GPU of which the driver names no process.
inline constexpr char kUnseenUser[] =
    "somebody who cannot be seen from here, as in another container";

/// The driver itself keeps some hundred MiB of a large GPU.
inline constexpr std::int64_t kDriverBytesMax = std::int64_t{2} << 30;

/// "a, b and c"
std::string list_text(const std::vector<std::string>& parts);

}  // namespace ddprun
