// TunnelOutbox: what one end of a tunnel has to say, and whose turn it is. Pure.
//
// Clients with bytes to send take turns of one frame, so that a big value delays another client's
// small request by one frame only. Bytes stay where they are until the connection has room for
// them; the short frames, which are few, are written down here.
#pragma once

#include <algorithm>
#include <deque>
#include <string>

#include "rendezvous/wire/tunnel_frame.hpp"

namespace ddprun {

class TunnelOutbox {
 public:
  /// Goes before all data.
  void say(const TunnelFrame& frame) { write_frame(short_frames_, frame); }

  /// The client has bytes to send. Not to be called again until it has had its turn.
  void has_bytes(TunnelClientId client) { waiting_.push_back(client); }

  bool empty() const { return short_frames_.empty() && waiting_.empty(); }

  /// The other side does not read.
  bool overfull() const { return short_frames_.size() > kShortFramesBytesMax; }

  /// Appends frames until about `bytes_max` are there. `take_turn(client, bytes_max, out)` appends
  /// the client's next bytes as a frame of at most that payload, and returns whether it has more.
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

  void clear() {
    short_frames_.clear();
    waiting_.clear();
  }

 private:
  static constexpr std::size_t kShortFramesBytesMax = std::size_t{1} << 20;

  std::string short_frames_;
  std::deque<TunnelClientId> waiting_;  // some may be gone
};

}  // namespace ddprun
