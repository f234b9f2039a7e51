#include "launcher/commands/nodes_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json/json_text.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "launcher/live/job_texts.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/rounds/node_history.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

bool is_left_out(const NodeLine& line, const NodePolicy& policy) {
  return policy.strikes > 0 && line.strikes >= policy.strikes;
}

/// Counts as a coordinator does. Only how far times are apart matters to that.
std::map<std::string, int> strikes_of(const std::vector<NodeRecord>& records,
                                      const NodePolicy& policy, std::int64_t now_unix_ms) {
  NodeHistory history{policy};
  for (const NodeRecord& record : records)
    history.add(failure_at(TimePoint{milliseconds{record.time_unix_ms}}, record));
  return history.strikes(TimePoint{milliseconds{now_unix_ms}});
}

}  // namespace

std::vector<NodeLine> lines_of_nodes(const std::vector<NodeRecord>& records,
                                     const NodePolicy& policy, std::int64_t now_unix_ms) {
  std::map<std::string, NodeLine> by_host;
  for (const NodeRecord& record : records) {
    NodeLine& line = by_host[record.host];
    line.host = record.host;
    ++line.failures;
    line.last = record;
  }
  for (const auto& [host, strikes] : strikes_of(records, policy, now_unix_ms))
    by_host[host].strikes = strikes;
  std::vector<NodeLine> lines;
  lines.reserve(by_host.size());
  for (auto& [host, line] : by_host) lines.push_back(std::move(line));
  std::ranges::stable_sort(lines, [](const NodeLine& a, const NodeLine& b) {
    return std::tuple{a.strikes, a.failures} > std::tuple{b.strikes, b.failures};
  });
  return lines;
}

std::string nodes_text(const std::vector<NodeLine>& lines, const NodePolicy& policy,
                       const std::string& folder, std::int64_t now_unix_ms) {
  if (lines.empty()) return fmt::format("no node has caused a failure, says '{}'\n", folder);
  TextTable table{"<>><<", {"NODE", "FAILURES", "STRIKES", "LAST", "WHAT IT WAS"}};
  std::string left_out;
  for (const NodeLine& line : lines) {
    const std::int64_t age_ms = std::max<std::int64_t>(now_unix_ms - line.last.time_unix_ms, 0);
    table.add({{plain_line(line.host)},
               {std::to_string(line.failures)},
               {std::to_string(line.strikes)},
               {duration_text(age_ms / 1000) + " ago"},
               {plain_line(line.last.sentence)}});
    if (is_left_out(line, policy))
      left_out += (left_out.empty() ? "" : ", ") + plain_line(line.host);
  }
  std::string text = table.text();
  if (left_out.empty()) return text;
  return text + fmt::format(
                    "\nWith {} strikes within {} a node takes part only while others are "
                    "too few: {}.\nOnce it is mended: ddprun nodes {} --forgive NODE\n",
                    policy.strikes, span_text(policy.window_ms), left_out, folder);
}

std::string nodes_json(const std::vector<NodeLine>& lines, const NodePolicy& policy) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeLine& line : lines)
    nodes.push_back({{"host", line.host},
                     {"failures", line.failures},
                     {"strikes", line.strikes},
                     {"left_out", is_left_out(line, policy)},
                     {"last", *json_or_null(to_json(line.last))}});
  return json_text(nlohmann::json{{"nodes", std::move(nodes)}}) + "\n";
}

}  // namespace ddprun
