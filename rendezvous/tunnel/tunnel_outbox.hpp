// TunnelOutbox: what one end of a tunnel has to send, and whose turn it is. It is pure.
//
// Clients with bytes to send take turns of one frame each, so that a big value delays another
// client's small request by one frame only. A client's bytes stay where they are until its turn has
// come. The frames without payload are short and few, and wait here.
#pragma once

#include <algorithm>
#include <deque>
#include <string>

#include "rendezvous/messages/tunnel_frame.hpp"

namespace ddprun {

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

}  // namespace ddprun
