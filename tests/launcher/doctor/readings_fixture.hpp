// Readings that were kept as files, and their findings in short.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/read/reading.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {

inline std::string recorded_text(const std::string& name) {
  std::ifstream file{std::string{DDPRUN_READINGS} + "/" + name + ".json"};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline NodeReading recorded(const std::string& name) {
  const auto reading = parse_reading(recorded_text(name));
  INFO(name);
  REQUIRE(reading.has_value());
  return *reading;
}

/// "failed shm" and "warning shm", in their order.
inline std::vector<std::string> complaints(const Findings& findings) {
  std::vector<std::string> short_forms;
  for (const Finding& finding : findings)
    if (finding.severity != Severity::kOk)
      short_forms.push_back((finding.severity == Severity::kFailed ? "failed " : "warning ") +
                            finding.subject);
  return short_forms;
}

inline const Finding& finding_on(const Findings& findings, const std::string& subject) {
  for (const Finding& finding : findings)
    if (finding.subject == subject && finding.severity != Severity::kOk) return finding;
  FAIL("nothing is wrong with " << subject);
  throw 0;
}

}  // namespace ddprun
