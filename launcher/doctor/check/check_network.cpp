#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/addresses.hpp"

namespace ddprun {

namespace {

/// The names of those that are up and have an address.
std::vector<std::string> usable_interfaces(const NodeReading& node) {
  std::vector<std::string> names;
  for (const InterfaceReading& interface : node.interfaces)
    if (interface.up && !interface.addresses.empty()) names.push_back(interface.name);
  return names;
}

std::string names_of_interfaces(const NodeReading& node) {
  const auto names = usable_interfaces(node);
  return names.empty() ? "none" : list_text(names);
}

void complain_of(const std::string& variable, const std::string& value, const NodeReading& node,
                 NodeFindings& found) {
  found.fail("interfaces",
             {fmt::format("{}={} names no interface of this node that is up: there are {}",
                          variable, value, names_of_interfaces(node)),
              "its ranks cannot connect to others: \"no socket interface found\", \"Unable to find "
              "interface\"",
              "name one that this node has, or unset the variable"});
}

void check_chosen_interfaces(const NodeReading& node, NodeFindings& found) {
  const auto usable = usable_interfaces(node);
  const std::string& nccl = node.nccl_interfaces;
  const auto taken = [&](const std::string& name) { return nccl_takes(nccl, name); };
  if (!nccl.empty() && std::ranges::none_of(usable, taken))
    complain_of("NCCL_SOCKET_IFNAME", nccl, node, found);
  for (const std::string& name : parts_of_list(node.gloo_interfaces))
    if (std::ranges::count(usable, name) == 0) complain_of("GLOO_SOCKET_IFNAME", name, node, found);
}

void check_network_interfaces(const NodeReading& node, bool alone, NodeFindings& found) {
  if (node.interfaces.empty()) return;
  const bool connected = std::ranges::any_of(node.interfaces, [](const InterfaceReading& each) {
    return each.up && !each.loopback && !each.addresses.empty();
  });
  if (!connected && !alone)
    return found.fail("interfaces", {"no network interface but loopback is up and has an address",
                                     "no other node can reach this one",
                                     "ip address shows the interfaces; in a container, use the "
                                     "host's network"});
  std::string seen = "up with an address: " + names_of_interfaces(node);
  const auto add = [&](const char* who, const std::optional<ChosenAddress>& choice) {
    if (choice) seen += fmt::format("; {} takes {} ({})", who, choice->interface, choice->address);
  };
  add("Gloo", address_for_gloo(node));
  if (node.gpus || !node.nccl_interfaces.empty()) add("NCCL", address_for_nccl(node));
  found.ok("interfaces", seen);
}

/// Unused ports are down, and that is well. One that waits for its subnet manager is not.
/// A node whose ports are all down is worth a look if its GPUs are to talk to other nodes.
void check_infiniband(const NodeReading& node, bool alone, NodeFindings& found) {
  int active = 0;
  for (const InfinibandReading& port : node.infiniband) {
    const std::string seen =
        fmt::format("{} port {}: {}, {}", port.device, port.port, port.state, port.rate);
    if (port.state == "ACTIVE") ++active;
    const bool waits = port.state == "INIT" || port.state == "ARMED";
    if (waits || port.state == "ACTIVE")
      found.add(waits ? Severity::kFailed : Severity::kOk, "infiniband",
                {seen,
                 "the port has a cable, but no subnet manager has given it an address: "
                 "nothing goes through it",
                 "look at opensm, or at the switch that manages the fabric (ibstat, sminfo)"});
  }
  if (active == 0 && !node.infiniband.empty() && node.gpus && !alone)
    found.warn("infiniband",
               {fmt::format("none of {} is active",
                            counted(static_cast<std::int64_t>(node.infiniband.size()),
                                    "InfiniBand or RoCE port")),
                "NCCL falls back to TCP, which is several times slower",
                "look at cables and at ibstat; if these cards are not for training, all is well"});
}

}  // namespace

Findings check_network(const NodeReading& node, bool alone) {
  NodeFindings found{node.node};
  check_network_interfaces(node, alone, found);
  check_chosen_interfaces(node, found);
  check_infiniband(node, alone, found);
  return found.take();
}

namespace {

using Nodes = std::vector<NodeReading>;

constexpr double kSlowRttMs = 50;
constexpr double kSlowLinkMs = 1000;

/// A way from one node to another one that does not do.
struct BadWay {
  std::string from, to;
  std::string how;  // "no answer within 2 s"
};
using BadWays = std::vector<BadWay>;

/// What is wrong with ways, in sentences. {0} is the list of other nodes.
struct WayTrouble {
  const char* subject;
  Severity severity;
  const char* from_others;  // to a node that most others have this trouble with
  const char* to_others;    // and from it
  const char* why;
  const char* advice;
};

std::vector<std::string> each_once(const BadWays& ways, std::string BadWay::*member) {
  std::vector<std::string> names;
  for (const BadWay& way : ways)
    if (std::ranges::count(names, way.*member) == 0) names.push_back(way.*member);
  return names;
}

/// The node that is at one end of the most ways; "": none is at the end of those to more than half
/// of the others.
std::string common_end(const BadWays& ways, std::size_t nodes) {
  std::map<std::string, std::set<std::string>> partners;
  for (const BadWay& way : ways) {
    partners[way.from].insert(way.to);
    partners[way.to].insert(way.from);
  }
  std::string most;
  for (const auto& [node, others] : partners)
    if (others.size() * 2 > nodes - 1 && (most.empty() || others.size() > partners[most].size()))
      most = node;
  return nodes > 2 ? most : "";
}

/// One ill node spoils the ways from and to all others: it is named once, and they are not.
class Complaints {
 public:
  Complaints(const WayTrouble& trouble, std::size_t nodes, Findings& found)
      : trouble_{trouble}, nodes_{nodes}, found_{found} {}

  void complain(BadWays ways) {
    for (std::string ill; !(ill = common_end(ways, nodes_)).empty();) {
      BadWays rest, in, out;
      for (BadWay& way : ways) (way.to == ill ? in : way.from == ill ? out : rest).push_back(way);
      std::string seen = sentence(trouble_.from_others, in, &BadWay::from);
      const std::string also = sentence(trouble_.to_others, out, &BadWay::to);
      seen += (seen.empty() || also.empty() ? "" : "; ") + also;
      add(ill, seen);
      ways = std::move(rest);
    }
    for (const std::string& from : each_once(ways, &BadWay::from)) {
      BadWays of_node;
      std::ranges::copy_if(ways, std::back_inserter(of_node),
                           [&](const BadWay& way) { return way.from == from; });
      add(from, sentence(trouble_.to_others, of_node, &BadWay::to));
    }
  }

 private:
  static std::string sentence(const char* text, const BadWays& ways, std::string BadWay::*other) {
    if (ways.empty()) return "";
    const std::string who = fmt::format(fmt::runtime(text), list_text(each_once(ways, other)));
    const auto how = each_once(ways, &BadWay::how);
    return how.front().empty() ? who : fmt::format("{}: {}", who, list_text(how));
  }

  void add(const std::string& node, const std::string& seen) {
    found_.push_back(
        {trouble_.severity, trouble_.subject, node, seen, trouble_.why, trouble_.advice});
  }

  const WayTrouble& trouble_;
  std::size_t nodes_;
  Findings& found_;
};

constexpr WayTrouble kUnreachable{
    "link",
    Severity::kFailed,
    "{0} cannot connect to this node",
    "this node cannot connect to {0}",
    "ranks of these nodes cannot talk to each other: the job does not start",
    "open all ports between the nodes in the firewall; look at routes, and at the addresses that "
    "the nodes' names have"};
constexpr WayTrouble kSmallOnly{
    "mtu",
    Severity::kFailed,
    "short messages of {0} reach this node, and long ones do not",
    "short messages to {0} arrive, and long ones do not",
    "packets are larger than the path takes (its MTU): the job connects, and hangs in its first "
    "collective",
    "set the same MTU on all interfaces and switches of the path: ping -M do -s 8972 shows whether "
    "9000 bytes pass"};
constexpr WayTrouble kSlow{"link",
                           Severity::kWarning,
                           "answers of this node take long to reach {0}",
                           "answers of {0} take long to reach this node",
                           "each connection and each collective waits for the network",
                           "look for a wrong route, lost packets (ip -s link) or a busy node"};
constexpr WayTrouble kGloo{
    "gloo-address",
    Severity::kFailed,
    "{0} cannot connect to the address of this node that Gloo takes",
    "this node cannot connect to the address that Gloo takes on {0}",
    "Gloo tells this address to other ranks: the job waits for connections that never come",
    "give the node's name an address that others reach, or set GLOO_SOCKET_IFNAME to the "
    "interface"};
constexpr WayTrouble kNccl{
    "nccl-address",
    Severity::kFailed,
    "{0} cannot connect to the address of this node that NCCL takes",
    "this node cannot connect to the address that NCCL takes on {0}",
    "NCCL tells this address to other ranks: the job hangs when it sets up NCCL",
    "set NCCL_SOCKET_IFNAME to the interface that leads to the other nodes"};
constexpr WayTrouble kIpv6{
    "ipv6",
    Severity::kWarning,
    "{0} cannot connect to this node over IPv6",
    "this node cannot connect to {0} over IPv6",
    "a program that tries IPv6 first waits for that, or gives up",
    "mend the routes of IPv6 (ip -6 route), or take the addresses off these interfaces"};

std::string place_of_link(const LinkReading& link) {
  return link.address.substr(0, link.address.find(' '));
}

std::string why_unreachable(const LinkReading& link) {
  return link.error.empty() ? "" : fmt::format("{} ({})", link.error, place_of_link(link));
}

std::string why_slow(const LinkReading& link) {
  if (link.rtt_ms.value_or(0) >= kSlowRttMs)
    return fmt::format("{:.0f} ms there and back", *link.rtt_ms);
  if (link.ms.value_or(0) >= kSlowLinkMs)
    return fmt::format("{:.1f} s to connect", *link.ms / 1000);
  return "";
}

using How = std::string (*)(const LinkReading&);

/// Returns the links to ssh's address that `how` has something to say about.
BadWays bad_ways(const Nodes& nodes, How how) {
  BadWays ways;
  for (const NodeReading& node : nodes)
    for (const LinkReading& link : node.peers.links)
      if (std::string text = link.use.empty() ? how(link) : ""; !text.empty())
        ways.push_back({node.node, link.node, std::move(text)});
  return ways;
}

/// Returns the links of that use that do not lead to a node, though another address of it does.
BadWays bad_choices(const Nodes& nodes, const std::string& use) {
  BadWays ways;
  for (const NodeReading& node : nodes)
    for (const LinkReading& link : node.peers.links) {
      if (link.use != use || link.error.empty()) continue;
      const bool reached = std::ranges::any_of(node.peers.links, [&](const LinkReading& other) {
        return other.node == link.node && other.use.empty() && other.error.empty();
      });
      if (reached) ways.push_back({node.node, link.node, why_unreachable(link)});
    }
  return ways;
}

}  // namespace

Findings check_links(const Nodes& nodes) {
  Findings found;
  std::size_t links = 0;
  for (const NodeReading& node : nodes) links += node.peers.links.size();
  const auto complain = [&](const WayTrouble& trouble, BadWays ways) {
    Complaints{trouble, nodes.size(), found}.complain(std::move(ways));
  };
  complain(kUnreachable, bad_ways(nodes, why_unreachable));
  BadWays lossy = bad_ways(
      nodes, [](const LinkReading& link) { return std::string{link.small_only ? "yes" : ""}; });
  for (BadWay& way : lossy) way.how.clear();
  complain(kSmallOnly, std::move(lossy));
  complain(kSlow, bad_ways(nodes, why_slow));
  complain(kGloo, bad_choices(nodes, "Gloo"));
  complain(kNccl, bad_choices(nodes, "NCCL"));
  complain(kIpv6, bad_choices(nodes, "IPv6"));
  if (links > 0 && found.empty())
    found.push_back(
        all_well("link", fmt::format("each node reaches each other one, {}",
                                     counted(static_cast<std::int64_t>(links), "connection"))));
  return found;
}

}  // namespace ddprun
