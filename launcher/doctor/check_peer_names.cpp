#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/number_text.hpp"
#include "launcher/doctor/compare_nodes.hpp"
#include "launcher/doctor/interface_choice.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

namespace {

constexpr double kSlowNameMs = 1000;

/// What the other nodes' resolvers make of a node's name.
struct NameViews {
  std::vector<std::string> well, unknown, slow, silent;
  std::map<std::string, std::vector<std::string>> wrong;  // by the addresses that they use
};

bool leads_to(const LookupReading& lookup, const NodeReading& node) {
  return std::ranges::any_of(lookup.answers, [&](const std::string& answer) {
    return !is_loopback_text(answer) && interface_with(answer, node.interfaces) != nullptr;
  });
}

NameViews views_of(const NodeReading& node, const std::vector<NodeReading>& nodes) {
  NameViews views;
  for (const NodeReading& other : nodes)
    for (const PeerNameReading& peer : other.peers.peer_names) {
      if (peer.node != node.node) continue;
      const LookupReading& lookup = peer.lookup;
      if (!lookup.ms)
        views.silent.push_back(other.node);
      else if (!lookup.error.empty())
        views.unknown.push_back(other.node);
      else if (!leads_to(lookup, node))
        views.wrong[list_text(lookup.answers)].push_back(other.node);
      else if (*lookup.ms >= kSlowNameMs)
        views.slow.push_back(other.node);
      else
        views.well.push_back(other.node);
    }
  return views;
}

constexpr char kNameAdvice[] =
    "give all nodes the same /etc/hosts or name server, with the address that other nodes reach";

std::vector<Trouble> troubles_of(const std::string& name, const NameViews& views) {
  std::vector<Trouble> troubles;
  for (const auto& [answers, who] : views.wrong)
    troubles.push_back(
        {fmt::format("its name, '{}', is {} on {}, which is no address of this node that others "
                     "reach",
                     name, answers, list_text(who)),
         "who looks for this node by its name, as with MASTER_ADDR, comes to another one",
         kNameAdvice});
  if (!views.silent.empty() || !views.slow.empty()) {
    std::vector<std::string> who = views.silent;
    who.insert(who.end(), views.slow.begin(), views.slow.end());
    troubles.push_back(
        {fmt::format("its name, '{}', takes long to look up on {}", name, list_text(who)),
         "each connection by name waits for that", kNameAdvice});
  }
  // If no node knows a name, jobs do not need it: ddprun gives the nodes addresses.
  if (!views.unknown.empty() && !views.well.empty())
    troubles.push_back({fmt::format("its name, '{}', is not known on {}, and on {} it is", name,
                                    list_text(views.unknown), list_text(views.well)),
                        "a program that connects to this node by its name fails there",
                        kNameAdvice});
  return troubles;
}

}  // namespace

Findings check_peer_names(const std::vector<NodeReading>& nodes) {
  Findings found;
  std::size_t names = 0;
  for (const NodeReading& node : nodes) names += node.peers.peer_names.size();
  for (const NodeReading& node : nodes) {
    if (!node.names.own_name) continue;
    NodeFindings of_node{node};
    for (Trouble& trouble : troubles_of(node.names.own_name->question, views_of(node, nodes)))
      of_node.warn("peer-names", std::move(trouble));
    std::ranges::move(of_node.take(), std::back_inserter(found));
  }
  if (names > 0 && found.empty())
    found.push_back({Severity::kOk, "peer-names", kAllNodes,
                     fmt::format("all nodes agree on each other's names, {}",
                                 counted(static_cast<std::int64_t>(names), "lookup")),
                     "", ""});
  return found;
}

}  // namespace ddprun
