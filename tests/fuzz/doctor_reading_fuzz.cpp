// Fuzzes the readings of nodes, which other hosts send to ddprun doctor, and all that is made of
// them: findings, the report for people and the one for programs.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/doctor_report.hpp"
#include "launcher/doctor/read/reading.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

void add(Findings&& more, Findings& findings) {
  for (Finding& finding : more) findings.push_back(std::move(finding));
}

/// Each finding names its subject, what was seen, why that matters and what to do.
void check_findings(const Findings& findings) {
  for (const Finding& finding : findings) {
    require(!finding.subject.empty() && !finding.seen.empty());
    require((finding.severity == Severity::kOk) == finding.why.empty());
    require((finding.severity == Severity::kOk) == finding.advice.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto reading = parse_reading({reinterpret_cast<const char*>(data), size});
  if (!reading) {
    require(!reading.error().message.empty());
    return 0;
  }
  const std::string line = to_line(*reading);
  const auto again = parse_reading(line);
  require(again.has_value() && to_line(*again) == line);

  NodeReading second = *reading, third = *reading;
  second.node += "-2";
  third.node += "-3";
  const std::vector<NodeReading> nodes{*reading, second, third};
  Findings findings = check_node(*reading, true);
  add(check_node(*reading, false), findings);
  add(compare_nodes(nodes), findings);
  add(check_links(nodes), findings);
  add(check_peer_names(nodes), findings);
  check_findings(findings);
  const std::string text =
      report_text({reading->node, second.node, kAllNodes}, findings, {.verbose = true});
  for (const char c : text) require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  require(nlohmann::json::accept(report_json(nodes, findings)));
  return 0;
}
