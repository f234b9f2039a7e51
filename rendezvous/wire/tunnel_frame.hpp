// Tunnel frames: how the bytes of a node's store clients travel on the one connection between its
// agent and the coordinator (--store local), between the lines of messages.hpp.
//
// A frame is 9 bytes, and those of its payload: u8 kind, u32 client, u32 value, little-endian. No
// kind is the first byte of a line. Clients are numbered by the agent, and a number never comes
// again on the same connection. What follows which frame is in PROTOCOL.md, section "Tunnel".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"

namespace ddprun {

using TunnelClientId = std::uint32_t;

/// Of one node at a time.
inline constexpr std::size_t kTunnelClientsMax = 16'384;

inline constexpr std::size_t kFrameHeaderBytes = 9;
inline constexpr std::size_t kFramePayloadBytesMax = 64 * 1024;

// clang-format off
/// Agent to coordinator: a worker of that round has connected.
struct TunnelOpen { TunnelClientId client; std::uint32_t round; };
/// Both ways: 1..kFramePayloadBytesMax of its bytes.
struct TunnelData { TunnelClientId client; std::string_view bytes; };
/// Both ways: that many of the bytes are dealt with, and as many more may come.
struct TunnelCredit { TunnelClientId client; std::uint32_t bytes; };
/// Both ways: its connection has ended; nothing follows.
struct TunnelClose { TunnelClientId client; };
// clang-format on
using TunnelFrame = std::variant<TunnelOpen, TunnelData, TunnelCredit, TunnelClose>;

/// Whether a frame begins with that byte, or may.
bool begins_frame(char first);

void write_frame(std::string& out, const TunnelFrame& frame);

/// A frame and how many bytes it takes; 0: not all of it is there.
struct FrameRead {
  std::size_t bytes = 0;
  TunnelFrame frame;
};
/// The frame that `bytes` begin with; its payload points into them. Errors: kInvalid.
Result<FrameRead> read_frame(std::string_view bytes);

}  // namespace ddprun
