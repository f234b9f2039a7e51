// What one end of a tunnel has to send, whose turn it is, and how much of it may be
// unacknowledged. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "rendezvous/messages/tunnel_frame.hpp"

namespace ddprun {

/// TunnelOutbox: what one end of a tunnel has to send, and whose turn it is. It is pure.
///
/// Clients with bytes to send take turns of one frame each, so that a big value delays another
/// client's small request by one frame only. A client's bytes stay where they are until its turn
/// has come. The frames without payload are short and few, and wait here.
class TunnelOutbox {
 public:
  /// More bytes of short frames than this make the outbox overfull().
  static constexpr std::size_t kShortFramesBytesMax = std::size_t{1} << 20;

  /// Queues a frame without payload. It goes before all data.
  void say(const TunnelFrame& frame) { write_frame(short_frames_, frame); }

  /// Gives a turn to a client that has bytes to send. Not to be called for it again before that.
  void has_bytes(TunnelClientId client) { waiting_.push_back(client); }

  bool empty() const { return short_frames_.empty() && waiting_.empty(); }

  /// Whether more short frames wait than a side that reads would leave.
  bool overfull() const { return short_frames_.size() > kShortFramesBytesMax; }

  /// Appends all short frames to `out`, and then frames of clients until `out` has about
  /// `bytes_max` bytes. `take_turn(client, payload_max, out)` appends the client's next bytes as a
  /// frame of at most that payload, and returns whether the client has more.
  template <typename TakeTurn>
  void fill(std::string& out, std::size_t bytes_max, TakeTurn&& take_turn) {
    out += short_frames_;
    short_frames_.clear();
    while (!waiting_.empty() && out.size() < bytes_max) {
      const TunnelClientId client = waiting_.front();
      waiting_.pop_front();
      if (take_turn(client, std::min(bytes_max - out.size(), kFramePayloadBytesMax), out))
        waiting_.push_back(client);
    }
  }

 private:
  std::string short_frames_;
  std::deque<TunnelClientId> waiting_;  // for their turn; some may be gone
};

// TunnelWindow limits how many bytes of one client may be unacknowledged in each direction.
//
// A side sends no more than the other has granted as credit. So what waits at the other side has a
// limit, and a client that does not read delays no other. This is HTTP/2's flow control for
// streams (RFC 9113, section 5.2) with one fixed window. Each end of a tunnel has one TunnelWindow
// for each client.

/// The credit of a new client, in each direction.
inline constexpr std::size_t kTunnelWindowBytes = 256 * 1024;

class TunnelWindow {
 public:
  /// How many bytes may be sent now.
  std::size_t credit() const { return credit_; }

  /// That many bytes, no more than credit(), have been sent.
  void sent(std::size_t bytes) { credit_ -= bytes; }

  /// The other side has dealt with that many bytes, and as many more may be sent. Errors: kInvalid
  /// when fewer were unacknowledged.
  Result<void> granted(std::size_t bytes) {
    if (bytes == 0 || bytes > kTunnelWindowBytes - credit_)
      return Error{Error::Kind::kInvalid,
                   "credit for " + std::to_string(bytes) + " bytes of a store client, with only " +
                       std::to_string(kTunnelWindowBytes - credit_) + " unacknowledged"};
    credit_ += bytes;
    return {};
  }

  /// That many bytes have come. Errors: kInvalid when the other side had no credit for them.
  Result<void> received(std::size_t bytes) {
    if (bytes > kTunnelWindowBytes - held_)
      return Error{Error::Kind::kInvalid, "more bytes of a store client than it may send"};
    held_ += bytes;
    return {};
  }

  /// That many of the received bytes have been dealt with. Returns the credit to grant to the other
  /// side now, usually 0: credit comes for a quarter of the window at once, so that small requests
  /// cost no frames.
  std::uint32_t dealt_with(std::size_t bytes) {
    owed_ += bytes;
    if (owed_ < kTunnelWindowBytes / 4) return 0;
    held_ -= owed_;
    return static_cast<std::uint32_t>(std::exchange(owed_, 0));
  }

 private:
  std::size_t credit_ = kTunnelWindowBytes;
  std::size_t held_ = 0;  // bytes that have come and for which no new credit was granted
  std::size_t owed_ = 0;  // bytes of `held_` that have been dealt with
};

}  // namespace ddprun
