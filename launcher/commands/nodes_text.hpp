// What `ddprun nodes` says of the nodes that caused failures. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/nodes/node_record.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

/// The failures of one node.
struct NodeLine {
  std::string host;
  int failures = 0;  // that are remembered
  int strikes = 0;   // that count, as --node-strikes does
  NodeRecord last;
};

/// What the records tell at that time, the node with the most strikes first. `records` have the
/// oldest one first.
std::vector<NodeLine> lines_of_nodes(const std::vector<NodeRecord>& records,
                                     const NodePolicy& policy, std::int64_t now_unix_ms);

/// A table for people, and what a line of it means for the next job.
std::string nodes_text(const std::vector<NodeLine>& lines, const NodePolicy& policy,
                       const std::string& folder, std::int64_t now_unix_ms);

/// Tells programs the same, in one line: {"nodes": [...]}.
std::string nodes_json(const std::vector<NodeLine>& lines, const NodePolicy& policy);

}  // namespace ddprun
