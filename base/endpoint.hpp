// Where somebody listens, as a command line or a message names it.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

struct Endpoint {
  std::string host;        // a name or an address; what "" means is said where it is allowed
  std::uint16_t port = 0;  // 0: any free one
  bool operator==(const Endpoint&) const = default;
};

}  // namespace ddprun
