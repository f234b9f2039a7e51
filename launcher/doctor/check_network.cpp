#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/interface_choice.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

namespace {

std::string names_of_interfaces(const NodeReading& node) {
  std::vector<std::string> names;
  for (const InterfaceReading& interface : node.interfaces)
    if (interface.up && !interface.addresses.empty()) names.push_back(interface.name);
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
  const auto usable = [](const InterfaceReading& interface) {
    return interface.up && !interface.addresses.empty();
  };
  const std::string& nccl = node.nccl_interfaces;
  if (!nccl.empty() && std::ranges::none_of(node.interfaces, [&](const auto& interface) {
        return usable(interface) && nccl_takes(nccl, interface.name);
      }))
    complain_of("NCCL_SOCKET_IFNAME", nccl, node, found);
  for (const std::string& name : parts_of_list(node.gloo_interfaces))
    if (std::ranges::none_of(node.interfaces, [&](const auto& interface) {
          return usable(interface) && interface.name == name;
        }))
      complain_of("GLOO_SOCKET_IFNAME", name, node, found);
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

/// Ports that nobody uses are down, and that is well. One that waits for its subnet manager is not.
/// A node whose ports are all down is worth a look if its GPUs are to talk to other nodes.
void check_infiniband(const NodeReading& node, bool alone, NodeFindings& found) {
  int active = 0;
  for (const InfinibandReading& port : node.infiniband) {
    const std::string seen =
        fmt::format("{} port {}: {}, {}", port.device, port.port, port.state, port.rate);
    if (port.state == "ACTIVE") ++active;
    if (port.state == "INIT" || port.state == "ARMED")
      found.fail("infiniband",
                 {seen,
                  "the port has a cable, but no subnet manager has given it an address: "
                  "nothing goes through it",
                  "look at opensm, or at the switch that manages the fabric (ibstat, sminfo)"});
    else if (port.state == "ACTIVE")
      found.ok("infiniband", seen);
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
  NodeFindings found{node};
  check_network_interfaces(node, alone, found);
  check_chosen_interfaces(node, found);
  check_infiniband(node, alone, found);
  return found.take();
}

}  // namespace ddprun
