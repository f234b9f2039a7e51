// Helps a check to write down what it finds. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "launcher/doctor/finding.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

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
