// How much one client, and all of them together, may ask of the worker store and keep in it.
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace ddprun {

/// StoreLimits: how much one client, and all of them together, may ask of the worker store.
///
/// The limits on keys, values and counts are those of torch's own server
/// (torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp), so what works there works here. The
/// others have no counterpart there. A connection that exceeds a limit is closed.
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

/// StoreBudget counts how much memory the store's clients have taken together, and limits it.
class StoreBudget {
 public:
  /// A budget of `bytes_max`. What is taken of it also counts in `whole`, which several stores of a
  /// server share; nullptr: there is none.
  explicit StoreBudget(std::size_t bytes_max, std::shared_ptr<StoreBudget> whole = nullptr)
      : bytes_max_{bytes_max}, whole_{std::move(whole)} {}
  StoreBudget(const StoreBudget&) = delete;
  StoreBudget& operator=(const StoreBudget&) = delete;
  ~StoreBudget() {
    if (whole_) whole_->release(bytes_used_);
  }

  /// Takes `bytes` of the budget. Errors: kUnavailable when fewer are left; nothing is taken then.
  Result<void> charge(std::size_t bytes) {
    if (bytes > bytes_max_ - bytes_used_) return refusal(bytes);
    if (whole_)
      if (auto charged = whole_->charge(bytes); !charged) return charged;
    bytes_used_ += bytes;
    return {};
  }

  /// Gives back `bytes` that were charged.
  void release(std::size_t bytes) {
    bytes_used_ -= bytes;
    if (whole_) whole_->release(bytes);
  }

  /// Replaces a charge of `before` bytes by one of `after`. Errors: as for charge().
  Result<void> change(std::size_t before, std::size_t after) {
    if (after > before) return charge(after - before);
    release(before - after);
    return {};
  }

  std::size_t bytes_used() const { return bytes_used_; }

 private:
  Error refusal(std::size_t bytes) const {
    return {Error::Kind::kUnavailable, "the store is full: " + std::to_string(bytes_used_) +
                                           " of " + std::to_string(bytes_max_) +
                                           " bytes are in use, " + std::to_string(bytes) +
                                           " more were asked for"};
  }

  std::size_t bytes_max_;
  std::size_t bytes_used_ = 0;
  std::shared_ptr<StoreBudget> whole_;
};

}  // namespace ddprun
