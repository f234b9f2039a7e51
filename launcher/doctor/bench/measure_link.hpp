// Measures the way to another node.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

/// Where the other node listens, as start_link_server() has opened it.
struct LinkEnd {
  std::string node;
  std::string host;  // an address
  std::uint16_t port = 0;
};

/// Measures for about 1 s, and for kLinkTimeout at most.
LinkSpeed measure_link(const std::string& from, const LinkEnd& to, const std::string& token);

inline constexpr int kLinkTimeoutS = 10;

}  // namespace ddprun
