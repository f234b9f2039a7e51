// TunnelWindow: how many bytes of one client may be under way in each direction.
//
// A side sends no more than the other has granted, so that what waits there has a limit, and a
// client that does not read holds nobody else up. It is HTTP/2's flow control for streams
// (RFC 9113, section 5.2), with one fixed window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"

namespace ddprun {

inline constexpr std::size_t kTunnelWindowBytes = 256 * 1024;

class TunnelWindow {
 public:
  /// What may be sent now.
  std::size_t room() const { return room_; }
  void sent(std::size_t bytes) { room_ -= bytes; }

  /// The other side has dealt with so many bytes. Errors: kInvalid when it never had them.
  Result<void> granted(std::size_t bytes) {
    if (bytes == 0 || bytes > kTunnelWindowBytes - room_)
      return Error{Error::Kind::kInvalid,
                   "credit for " + std::to_string(bytes) + " bytes of a store client, of which " +
                       std::to_string(kTunnelWindowBytes - room_) + " are under way"};
    room_ += bytes;
    return {};
  }

  /// So many have come. Errors: kInvalid when they were not granted.
  Result<void> received(std::size_t bytes) {
    if (bytes > kTunnelWindowBytes - held_)
      return Error{Error::Kind::kInvalid, "more bytes of a store client than it may send"};
    held_ += bytes;
    return {};
  }

  /// So many have been dealt with. What to grant the other side now: not every few bytes, so that
  /// small requests cost no frames.
  std::uint32_t dealt_with(std::size_t bytes) {
    owed_ += bytes;
    if (owed_ < kTunnelWindowBytes / 4) return 0;
    held_ -= owed_;
    return static_cast<std::uint32_t>(std::exchange(owed_, 0));
  }

 private:
  std::size_t room_ = kTunnelWindowBytes;
  std::size_t held_ = 0;  // received and not granted again
  std::size_t owed_ = 0;  // of these, dealt with
};

}  // namespace ddprun
