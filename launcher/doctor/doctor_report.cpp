#include "launcher/doctor/doctor_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json/json_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

namespace {

constexpr int kTextColumnsMin = 40;

const char* color_of(Severity severity) {
  switch (severity) {
    case Severity::kFailed:
      return kRed;
    case Severity::kWarning:
      return kYellow;
    case Severity::kOk:
      break;
  }
  return kGreen;
}

/// Adds a finding with its sentences, each cut into lines.
void add_finding(const Finding& finding, int columns, TextTable& table) {
  const auto add = [&](Cell first, Cell second, const std::string& text) {
    for (std::string& line : wrapped(plain_line(text), columns)) {
      table.add({first, second, {std::move(line)}});
      first = second = {};
    }
  };
  add({to_string(finding.severity), color_of(finding.severity)}, {finding.subject}, finding.seen);
  if (finding.severity == Severity::kOk) return;
  add({}, {"why", kDim}, finding.why);
  add({}, {"do", kDim}, finding.advice);
}

/// What is about all nodes together has been found between them.
std::string label_of(const std::string& node) {
  return node == kAllNodes ? "between the nodes" : plain_line(node);
}

std::string heading_of(const std::string& node, const Findings& findings) {
  const int failed = count_of(findings, Severity::kFailed);
  const int warnings = count_of(findings, Severity::kWarning);
  const auto ok = static_cast<int>(findings.size()) - failed - warnings;
  if (failed + warnings == 0)
    return fmt::format("{}: {}, all ok\n", label_of(node), counted(ok, "check"));
  std::vector<std::string> counts;
  if (failed > 0) counts.push_back(fmt::format("{} failed", failed));
  if (warnings > 0) counts.push_back(counted(warnings, "warning"));
  counts.push_back(fmt::format("{} ok", ok));
  return fmt::format("{}: {}\n", label_of(node), fmt::join(counts, ", "));
}

std::string node_text(const std::string& node, const Findings& findings, const ReportStyle& style) {
  Findings shown;
  for (const Severity severity : {Severity::kFailed, Severity::kWarning, Severity::kOk})
    if (severity != Severity::kOk || style.verbose)
      std::ranges::copy_if(findings, std::back_inserter(shown),
                           [&](const Finding& finding) { return finding.severity == severity; });
  std::size_t subject = 0;
  for (const Finding& finding : shown) subject = std::max(subject, finding.subject.size());
  const int before = 2 + 7 + 2 + static_cast<int>(subject) + 2;
  TextTable table{"<<<"};
  for (const Finding& finding : shown)
    add_finding(finding, std::max(style.columns - before, kTextColumnsMin), table);
  return heading_of(node, findings) + table.text(style.color, "  ");
}

}  // namespace

std::string report_text(const std::vector<std::string>& nodes, const Findings& findings,
                        const ReportStyle& style) {
  std::string text;
  for (const std::string& node : nodes) {
    Findings of_node;
    std::ranges::copy_if(findings, std::back_inserter(of_node),
                         [&](const Finding& finding) { return finding.node == node; });
    text += node_text(node, of_node, style);
  }
  return text;
}

std::string report_json(const std::vector<NodeReading>& readings, const Findings& findings,
                        const std::optional<Measurements>& measured) {
  nlohmann::json nodes = nlohmann::json::array(), list = nlohmann::json::array();
  for (const NodeReading& reading : readings) nodes.push_back(to_json(reading));
  for (const Finding& finding : findings)
    list.push_back({{"severity", to_string(finding.severity)},
                    {"subject", finding.subject},
                    {"node", finding.node},
                    {"seen", finding.seen},
                    {"why", finding.why},
                    {"advice", finding.advice}});
  nlohmann::json root = {{"failed", count_of(findings, Severity::kFailed)},
                         {"warnings", count_of(findings, Severity::kWarning)},
                         {"ok", count_of(findings, Severity::kOk)},
                         {"findings", std::move(list)},
                         {"readings", std::move(nodes)}};
  if (measured) root["bench"] = to_json(*measured);
  return json_text(root) + "\n";
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kFailed:
      return "failed";
    case Severity::kWarning:
      return "warning";
    case Severity::kOk:
      break;
  }
  return "ok";
}

int count_of(const Findings& findings, Severity severity) {
  return static_cast<int>(std::ranges::count(findings, severity, &Finding::severity));
}

std::vector<std::string> wrapped(const std::string& text, int columns) {
  std::vector<std::string> lines;
  std::istringstream words{text};
  for (std::string word; words >> word;) {
    const bool fits = !lines.empty() && columns_of(lines.back()) + 1 + columns_of(word) <=
                                            static_cast<std::size_t>(columns);
    if (fits)
      lines.back() += " " + word;
    else
      lines.push_back(std::move(word));
  }
  return lines;
}

}  // namespace ddprun
