// StoreLimits: how much one client, and all of them together, may ask of the worker store.
//
// The limits on keys, values and counts are those of torch's own server
// (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp), so what works there works here. The
// others have no counterpart there. A connection that exceeds a limit is closed.
#pragma once

#include <chrono>
#include <cstddef>

namespace ddprun {

struct StoreLimits {
  std::size_t key_bytes_max = 8192;  // as sent, with the slash that torch puts in front
  std::size_t value_bytes_max = std::size_t{8} << 20;  // one value as sent; APPEND may exceed it
  std::size_t keys_max = 131'072;                      // named by one request
  std::size_t request_bytes_max = std::size_t{256} << 20;  // one MULTI_SET
  std::size_t reply_bytes_max = std::size_t{256} << 20;    // one MULTI_GET or LIST_KEYS
  std::size_t memory_bytes_max = std::size_t{1} << 30;  // keys, values, queues, waits, big buffers

  /// While a client has left this many bytes of replies unread, its further requests are not
  /// served.
  std::size_t unread_bytes_max = std::size_t{1} << 20;

  std::chrono::milliseconds validate_timeout{10'000};  // from connection to a complete VALIDATE
  std::size_t unvalidated_max = 1024;                  // beyond it, the oldest such peer is closed
};

}  // namespace ddprun
