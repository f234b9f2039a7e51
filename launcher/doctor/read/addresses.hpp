// Which addresses of a node its ranks and the other nodes will use. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Which address of a node its ranks will use.
struct ChosenAddress {
  std::string interface;
  std::string address;
};

/// Returns the address that NCCL tells other ranks: of NCCL_SOCKET_IFNAME, or else of the first
/// interface in its order: ib*, others, docker*, lo
/// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname).
std::optional<ChosenAddress> address_for_nccl(const NodeReading& node);

/// Returns the address that Gloo tells them: of GLOO_SOCKET_IFNAME, or else the first address of
/// the node's name that the node has.
std::optional<ChosenAddress> address_for_gloo(const NodeReading& node);

/// Returns the one of the interfaces that has the address; nullptr: none has.
const InterfaceReading* interface_with(const std::string& address,
                                       const std::vector<InterfaceReading>& interfaces);

/// Returns the first IPv6 address that leads beyond the link.
std::optional<ChosenAddress> ipv6_address(const NodeReading& node);

/// Returns the first address that other nodes may use, "" if there is none: NCCL's order is as good
/// as any, without its variable.
std::string first_address(const NodeReading& node);

/// Whether NCCL takes the interface for such a list: beginnings of names; "=": whole names; "^":
/// all others.
bool nccl_takes(std::string_view list, const std::string& interface);

/// Cuts a text at commas.
std::vector<std::string> parts_of_list(std::string_view list);

/// Whether it is 127.x.x.x or ::1.
bool is_loopback_text(const std::string& address);

}  // namespace ddprun
