// Tunnel frames carry the bytes of a node's store clients on the one connection between its agent
// and the coordinator (--store local), between the lines of messages.hpp.
//
// The format is our own. A frame has a header of 9 bytes (u8 kind, u32 client, u32 value,
// little-endian) and then its payload, if it has one. No kind is the first byte of a line. The
// agent numbers its clients, and a number never comes again on the same connection.
// docs/internals/tunnel.md says which frame follows which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"

namespace ddprun {

using TunnelClientId = std::uint32_t;

/// A node may have this many store clients at the same time.
inline constexpr std::size_t kTunnelClientsMax = 16'384;

inline constexpr std::size_t kFrameHeaderBytes = 9;
inline constexpr std::size_t kFramePayloadBytesMax = 64 * 1024;

// clang-format off
/// Agent to coordinator: a worker of that round has connected.
struct TunnelOpen { TunnelClientId client; std::uint32_t round; };
/// Both ways: the next 1 to kFramePayloadBytesMax bytes of the client's stream.
struct TunnelData { TunnelClientId client; std::string_view bytes; };
/// Both ways: that many of the client's bytes are dealt with, and as many more may be sent.
struct TunnelCredit { TunnelClientId client; std::uint32_t bytes; };
/// Both ways: the client's connection has ended, and nothing of it follows.
struct TunnelClose { TunnelClientId client; };
// clang-format on
using TunnelFrame = std::variant<TunnelOpen, TunnelData, TunnelCredit, TunnelClose>;

/// Whether a frame may begin with the byte `first`.
bool begins_frame(char first);

/// Appends `frame` to `out`.
void write_frame(std::string& out, const TunnelFrame& frame);

/// A frame and how many bytes it takes; 0 bytes: it has not all come, and `frame` means nothing.
struct FrameRead {
  std::size_t bytes = 0;
  TunnelFrame frame;
};
/// Reads the frame that `bytes` begin with; its payload points into them. Errors: kInvalid when
/// they do not begin a frame.
Result<FrameRead> read_frame(std::string_view bytes);

}  // namespace ddprun
