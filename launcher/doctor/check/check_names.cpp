#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/addresses.hpp"

namespace ddprun {

namespace {

constexpr double kSlowLookupMs = 1000;

constexpr char kHostsFile[] =
    "add a line with this node's address and name to /etc/hosts, or to the name server";

/// What to do about an answer that has not come in time.
std::string advice_on_silence(bool no_server) {
  return no_server ? std::string{"mend the name server first (name-server), or "} + kHostsFile
                   : kHostsFile;
}

/// Debian gives a machine's name the address 127.0.1.1, which every machine has.
bool is_elsewhere(const LookupReading& lookup, const NodeReading& node) {
  return !node.interfaces.empty() &&
         std::ranges::none_of(lookup.answers, [&](const std::string& answer) {
           return is_loopback_text(answer) || interface_with(answer, node.interfaces) != nullptr;
         });
}

/// `no_server`: there are name servers, and none of them answers.
void check_own_name(const NodeReading& node, bool alone, bool no_server, NodeFindings& found) {
  const LookupReading& lookup = *node.names.own_name;
  const std::string name = fmt::format("this node's name, '{}',", lookup.question);
  if (!lookup.ms)
    return found.fail("own-name", {name + " was not resolved in time",
                                   "each connection by name waits for that: a job takes minutes to "
                                   "start, or times out",
                                   advice_on_silence(no_server)});
  if (!lookup.error.empty())
    return found.add(
        alone ? Severity::kWarning : Severity::kFailed, "own-name",
        {fmt::format("{} cannot be resolved: {}", name, lookup.error),
         "Gloo listens at the address of this name, and other nodes look for it", kHostsFile});
  const std::string seen =
      fmt::format("{} is {}, in {:.0f} ms", name, list_text(lookup.answers), *lookup.ms);
  if (is_elsewhere(lookup, node))
    return found.warn(
        "own-name",
        {seen + ", and no interface of this node has that address",
         alone
             ? "nodes that look up this node's name reach another machine"
             : "Gloo cannot listen there, and listens at 127.0.0.1, where no other node reaches it",
         std::string{kHostsFile} + "; or set GLOO_SOCKET_IFNAME to the interface"});
  if (!alone && std::ranges::all_of(lookup.answers, is_loopback_text))
    return found.warn("own-name",
                      {seen,
                       "Gloo tells other nodes this address, and they come to themselves instead: "
                       "\"Connection refused\"",
                       std::string{kHostsFile} + "; or set GLOO_SOCKET_IFNAME to the interface"});
  found.add(warning_if(*lookup.ms >= kSlowLookupMs), "own-name",
            {seen, "each connection by name waits for that", kHostsFile});
}

/// Most networks give no names to addresses, so only a question that hangs is a mistake.
void check_own_address(const LookupReading& lookup, bool no_server, NodeFindings& found) {
  const std::string name = fmt::format("the name of this node's address, {},", lookup.question);
  if (!lookup.ms || *lookup.ms >= kSlowLookupMs)
    return found.warn(
        "own-address",
        {lookup.ms ? fmt::format("{} took {:.1f} s to look up", name, *lookup.ms / 1000)
                   : name + " was not looked up in time",
         "ssh and other servers look for the name of each client: each login waits for that",
         advice_on_silence(no_server)});
  const std::string answer = lookup.answers.empty() ? "no name" : list_text(lookup.answers);
  found.ok("own-address",
           fmt::format("{} has {}, in {:.0f} ms", lookup.question, answer, *lookup.ms));
}

void check_server(const NameServerReading& server, const NamesReading& names, bool others_live,
                  NodeFindings& found) {
  if (server.answer_ms)
    return found.ok("name-server", fmt::format("the name server {} answers in {:.0f} ms",
                                               server.address, *server.answer_ms));
  found.warn("name-server",
             {fmt::format("the name server {} does not answer", server.address),
              others_live ? "names are found by another one, after 5 s of waiting for this one"
                          : "names that /etc/hosts does not have are not found, or after a while",
              names.servers.size() == 1 ? "start it again, or name another one in /etc/resolv.conf"
                                        : "remove it from /etc/resolv.conf, or start it again"});
}

}  // namespace

Findings check_names(const NodeReading& node, bool alone) {
  NodeFindings found{node.node};
  const NamesReading& names = node.names;
  const bool any_lives = std::ranges::any_of(
      names.servers, [](const NameServerReading& server) { return server.answer_ms.has_value(); });
  const bool no_server = !names.servers.empty() && !any_lives;
  const auto check_servers = [&] {
    for (const NameServerReading& server : names.servers)
      check_server(server, names, any_lives, found);
  };
  if (no_server) check_servers();  // they come first, as the reason for the others
  if (names.own_name) check_own_name(node, alone, no_server, found);
  if (names.own_address) check_own_address(*names.own_address, no_server, found);
  if (!no_server) check_servers();
  return found.take();
}

namespace {

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
      else if (*lookup.ms >= kSlowLookupMs)
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
    NodeFindings of_node{node.node};
    for (Trouble& trouble : troubles_of(node.names.own_name->question, views_of(node, nodes)))
      of_node.warn("peer-names", std::move(trouble));
    append(of_node.take(), found);
  }
  if (names > 0 && found.empty())
    found.push_back(
        all_well("peer-names", fmt::format("all nodes agree on each other's names, {}",
                                           counted(static_cast<std::int64_t>(names), "lookup"))));
  return found;
}

}  // namespace ddprun
