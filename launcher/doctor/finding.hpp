// What a check has found out about a node, and how it writes that down. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launcher/doctor/reading.hpp"

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

/// What is wrong, in sentences for people.
struct Trouble {
  std::string seen;
  std::string why;
  std::string advice;
};

/// The findings on one node.
class NodeFindings {
 public:
  explicit NodeFindings(const NodeReading& node) : node_{node.node} {}

  void ok(std::string subject, std::string seen) {
    found_.push_back({Severity::kOk, std::move(subject), node_, std::move(seen), "", ""});
  }
  void warn(std::string subject, Trouble trouble) {
    add(Severity::kWarning, std::move(subject), std::move(trouble));
  }
  void fail(std::string subject, Trouble trouble) {
    add(Severity::kFailed, std::move(subject), std::move(trouble));
  }
  Findings take() { return std::move(found_); }

 private:
  void add(Severity severity, std::string subject, Trouble trouble) {
    found_.push_back({severity, std::move(subject), node_, std::move(trouble.seen),
                      std::move(trouble.why), std::move(trouble.advice)});
  }

  std::string node_;
  Findings found_;
};

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
