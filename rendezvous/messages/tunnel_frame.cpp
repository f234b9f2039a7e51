#include "rendezvous/messages/tunnel_frame.hpp"

#include <array>
#include <boost/endian/conversion.hpp>

#include "base/match.hpp"

namespace ddprun {

namespace {

enum Kind : unsigned char { kOpen = 1, kData = 2, kCredit = 3, kClose = 4 };

void write_header(std::string& out, Kind kind, TunnelClientId client, std::uint32_t value) {
  std::array<unsigned char, kFrameHeaderBytes> header{kind};
  boost::endian::store_little_u32(&header[1], client);
  boost::endian::store_little_u32(&header[5], value);
  out.append(reinterpret_cast<const char*>(header.data()), header.size());
}

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  return boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(bytes.data()) + at);
}

Error bad_frame(const std::string& what) {
  return {Error::Kind::kInvalid, "a frame of the tunnel " + what};
}

}  // namespace

bool begins_frame(char first) { return first >= kOpen && first <= kClose; }

void write_frame(std::string& out, const TunnelFrame& frame) {
  match(
      frame,  //
      [&](const TunnelOpen& f) { write_header(out, kOpen, f.client, f.round); },
      [&](const TunnelData& f) {
        write_header(out, kData, f.client, static_cast<std::uint32_t>(f.bytes.size()));
        out += f.bytes;
      },
      [&](const TunnelCredit& f) { write_header(out, kCredit, f.client, f.bytes); },
      [&](const TunnelClose& f) { write_header(out, kClose, f.client, 0); });
}

Result<FrameRead> read_frame(std::string_view bytes) {
  if (!bytes.empty() && !begins_frame(bytes.front())) return bad_frame("is of no known kind");
  if (bytes.size() < kFrameHeaderBytes) return FrameRead{};
  const TunnelClientId client = read_u32(bytes, 1);
  const std::uint32_t value = read_u32(bytes, 5);
  switch (bytes.front()) {
    case kOpen:
      return FrameRead{kFrameHeaderBytes, TunnelOpen{client, value}};
    case kCredit:
      return FrameRead{kFrameHeaderBytes, TunnelCredit{client, value}};
    case kClose:
      if (value != 0) return bad_frame("closes a client with " + std::to_string(value));
      return FrameRead{kFrameHeaderBytes, TunnelClose{client}};
  }
  if (value == 0 || value > kFramePayloadBytesMax)
    return bad_frame("has " + std::to_string(value) + " bytes, expected 1 to " +
                     std::to_string(kFramePayloadBytesMax));
  if (bytes.size() < kFrameHeaderBytes + value) return FrameRead{};
  return FrameRead{kFrameHeaderBytes + value,
                   TunnelData{client, bytes.substr(kFrameHeaderBytes, value)}};
}

}  // namespace ddprun
