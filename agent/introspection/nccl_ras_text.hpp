// What NCCL's RAS service tells of a job, cut down to what is wrong. Pure.
//
// The text is for people, and has sections whose titles are underlined:
// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html. Those called
// "Errors" and "Warnings" name ranks that are missing or lag behind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"

namespace ddprun {

/// Whether workers wait in an operation of NCCL.
bool concerns_nccl(const HangReport& hang);

inline constexpr std::size_t kRasLinesMax = 12;

/// The lines of those two sections, each printable and no longer than 160 bytes. The first ones
/// count; when there are more than kRasLinesMax, the last line says how many. Empty: nothing is
/// wrong.
std::vector<std::string> abridge_ras(std::string_view text);

/// Where the service may listen by the value of NCCL_RAS_ADDR, "localhost:28028": numeric hosts and
/// a port. Empty: the value is none, or names a host that would have to be looked up.
struct RasAddress {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const RasAddress&) const = default;
};
std::vector<RasAddress> ras_addresses(std::string_view value);

}  // namespace ddprun
