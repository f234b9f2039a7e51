#include "launcher/doctor/peer_ways.hpp"

#include <algorithm>
#include <optional>

#include "launcher/doctor/interface_choice.hpp"

namespace ddprun {

std::vector<Peer> ways_to(const Examined& node) {
  const NodeReading& reading = node.reading;
  if (node.port == 0) return {};
  const std::string name = reading.names.own_name ? reading.names.own_name->question : "";
  std::vector<Peer> ways{{reading.node, node.host, node.port, "", name}};
  const auto add = [&](const char* use, const std::optional<ChosenAddress>& choice) {
    if (!choice || is_loopback_text(choice->address)) return;
    if (std::ranges::count(ways, choice->address, &Peer::host) > 0) return;
    ways.push_back({reading.node, choice->address, node.port, use, ""});
  };
  add("Gloo", address_for_gloo(reading));
  // Without GPUs, NCCL is of no use to this node.
  if (reading.gpus || !reading.nccl_interfaces.empty()) add("NCCL", address_for_nccl(reading));
  add("IPv6", ipv6_address(reading));
  return ways;
}

}  // namespace ddprun
