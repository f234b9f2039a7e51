#include "launcher/doctor/read/addresses.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <optional>

#include "launcher/settings/values.hpp"

namespace ddprun {

namespace {

bool leads_out(const std::string& address, bool ipv6) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error || parsed.is_v6() != ipv6) return false;
  return !ipv6 || (!parsed.to_v6().is_link_local() && !parsed.is_loopback());
}

/// Returns the first address of an interface that is up and in the list. IPv4 comes first, as in
/// the kernel's list of addresses.
std::optional<ChosenAddress> first_in(const NodeReading& node, std::string_view list) {
  for (const bool ipv6 : {false, true})
    for (const InterfaceReading& interface : node.interfaces) {
      if (!interface.up || !nccl_takes(list, interface.name)) continue;
      for (const std::string& address : interface.addresses)
        if (leads_out(address, ipv6)) return ChosenAddress{interface.name, address};
    }
  return std::nullopt;
}

std::optional<ChosenAddress> first_by_order(const NodeReading& node) {
  for (const char* list : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"})
    if (auto found = first_in(node, list)) return found;
  return std::nullopt;
}

}  // namespace

std::optional<ChosenAddress> address_for_nccl(const NodeReading& node) {
  return node.nccl_interfaces.empty() ? first_by_order(node) : first_in(node, node.nccl_interfaces);
}

std::optional<ChosenAddress> address_for_gloo(const NodeReading& node) {
  if (const auto names = parts_of_list(node.gloo_interfaces); !names.empty())
    return first_in(node, "=" + names.front());
  if (!node.names.own_name) return std::nullopt;
  for (const std::string& answer : node.names.own_name->answers)
    if (const auto* const interface = interface_with(answer, node.interfaces))
      return ChosenAddress{interface->name, answer};
  return std::nullopt;
}

const InterfaceReading* interface_with(const std::string& address,
                                       const std::vector<InterfaceReading>& interfaces) {
  const auto found = std::ranges::find_if(interfaces, [&](const InterfaceReading& interface) {
    return std::ranges::count(interface.addresses, address) > 0;
  });
  return found == interfaces.end() ? nullptr : &*found;
}

std::optional<ChosenAddress> ipv6_address(const NodeReading& node) {
  for (const InterfaceReading& interface : node.interfaces) {
    if (!interface.up || interface.loopback) continue;
    for (const std::string& address : interface.addresses)
      if (leads_out(address, true)) return ChosenAddress{interface.name, address};
  }
  return std::nullopt;
}

std::string first_address(const NodeReading& node) {
  const auto found = first_by_order(node);
  return found && !is_loopback_text(found->address) ? found->address : "";
}

bool nccl_takes(std::string_view list, const std::string& interface) {
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  const bool whole = list.starts_with('=');
  if (whole) list.remove_prefix(1);
  const bool named = std::ranges::any_of(parts_of_list(list), [&](std::string part) {
    part = part.substr(0, part.find(':'));
    return whole ? interface == part : interface.starts_with(part);
  });
  return named != others;
}

std::vector<std::string> parts_of_list(std::string_view list) {
  auto parts = split(list, ',');
  std::erase(parts, "");
  return parts;
}

bool is_loopback_text(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace ddprun
