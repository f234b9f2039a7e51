// Endpoint: where somebody listens, as a command line or a message names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

inline constexpr int kPortMax = 65'535;

/// A host that has not been looked up, and a port.
struct Endpoint {
  std::string host;        // a name or an address; who allows "" says what it means
  std::uint16_t port = 0;  // 0: any free one, or none is known
  bool operator==(const Endpoint&) const = default;
};

/// Returns HOST:PORT, with brackets around an IPv6 address (RFC 3986).
std::string text_of(const Endpoint& endpoint);

/// Whether the address leads to its own machine.
bool is_loopback(std::string_view address);

/// Reads what text_of() returns; nullopt when it is something else, or the port is 0.
std::optional<Endpoint> read_endpoint(std::string_view text);

}  // namespace ddprun
