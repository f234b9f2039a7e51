// Endpoint: where somebody listens, as a command line or a message names it.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// A host that has not been looked up, and a port.
struct Endpoint {
  std::string host;        // a name or an address; who allows "" says what it means
  std::uint16_t port = 0;  // 0: any free one, or none is known
  bool operator==(const Endpoint&) const = default;
};

}  // namespace ddprun
