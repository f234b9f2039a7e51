// Shows findings to people and to programs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

struct ReportStyle {
  bool color = false;
  bool verbose = false;  // shows what is well, too
  int columns = 80;
};

/// Returns a table for each of `nodes`, in their order: what failed, then the warnings. What is
/// well is counted.
std::string report_text(const std::vector<std::string>& nodes, const Findings& findings,
                        const ReportStyle& style);

/// Returns all findings, readings and measurements as JSON, in one line.
std::string report_json(const std::vector<NodeReading>& readings, const Findings& findings,
                        const std::optional<Measurements>& measured = std::nullopt);

/// "ok", "warning", "failed"
const char* to_string(Severity severity);

/// Returns how many findings are so bad.
int count_of(const Findings& findings, Severity severity);

/// Cuts a text between words into lines of that many columns. A longer word has a line of its own.
std::vector<std::string> wrapped(const std::string& text, int columns);

}  // namespace ddprun
