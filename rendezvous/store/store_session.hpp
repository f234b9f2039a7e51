// StoreSession serves one client of the worker store, from the bytes that arrive to those that are
// sent. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "rendezvous/store/init_epochs.hpp"
#include "rendezvous/store/store.hpp"
#include "rendezvous/store/store_limits.hpp"
#include "rendezvous/store/store_protocol.hpp"

namespace ddprun {

/// StoreInbox: the bytes that have arrived on a connection and are not yet dealt with.
///
/// It takes no memory while it is empty, and grows only as bytes really arrive, so that a peer that
/// announces much and sends little costs little.
class StoreInbox {
 public:
  static constexpr std::size_t kSmall = 1024;  // the first block

  /// The bytes that are not yet consumed, valid until the next change.
  std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }
  std::size_t capacity() const { return capacity_; }

  /// Returns free space behind unread(), at least for the next `missing` bytes or for a chunk of
  /// them. It is to be filled from its beginning; then arrived() says how far.
  std::span<char> buffer(std::size_t missing) {
    const std::size_t held = end_ - begin_;
    const std::size_t wanted = std::clamp(missing, kBufferMin, std::max(kChunk, held));
    // The block at least doubles, so that a long request in small pieces is copied a few times
    // only.
    if (capacity_ - end_ < wanted) make_space(std::max({held + wanted, 2 * held, kSmall}));
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void arrived(std::size_t bytes) { end_ += bytes; }

  /// Adds a copy of `bytes`.
  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::span<char> free = buffer(bytes.size());
      const std::size_t taken = bytes.copy(free.data(), free.size());
      arrived(taken);
      bytes.remove_prefix(taken);
    }
  }

  /// Forgets the first `bytes` of unread(), and frees the memory when nothing is left.
  void consume(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) *this = {};
  }

  StoreInbox() = default;
  StoreInbox(StoreInbox&& other) noexcept { *this = std::move(other); }
  StoreInbox& operator=(StoreInbox&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    capacity_ = std::exchange(other.capacity_, 0);
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
    return *this;
  }

 private:
  static constexpr std::size_t kBufferMin = 512;
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  // Moves what is held to the front of a block of at least `size` bytes.
  void make_space(std::size_t size) {
    const std::string_view held = unread();
    if (size <= capacity_) {
      std::memmove(bytes_.get(), held.data(), held.size());
    } else {
      auto bigger = std::make_unique_for_overwrite<char[]>(size);
      if (!held.empty()) std::memcpy(bigger.get(), held.data(), held.size());
      bytes_ = std::move(bigger);
      capacity_ = size;
    }
    end_ = held.size();
    begin_ = 0;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// StoreSession serves one client of the worker store: it turns the bytes that come into operations
// of the Store, and their results into the bytes to send. Requests and replies are those of torch's
// TCPStore: see store_protocol.hpp.
//
// It is passive: it has no socket and no clock. received() takes the input, and its output() is
// sent. An error means that the connection must be closed, and says why in a sentence. After any
// call the Store may hold clients whose wait has ended (Store::take_ready); the server calls
// settle() of each.
//
// Pipelined requests are answered in order. A WAIT is answered when it ends, and requests behind it
// are served meanwhile. A second WAIT that cannot be answered at once takes the first one's place.

/// All sessions of one server share this, and it outlives them.
struct StoreState {
  explicit StoreState(const StoreLimits& store_limits, std::shared_ptr<StoreBudget> whole = nullptr)
      : limits{store_limits}, store{store_limits.memory_bytes_max, std::move(whole)} {}

  const StoreLimits limits;
  Store store;
  InitEpochs epochs;
};

class StoreSession {
 public:
  /// A client that has not sent anything. `address` distinguishes its processes.
  StoreSession(ClientId id, std::string address, StoreState& state);

  /// Serves the next bytes of the stream. Whole requests are served where they are; only the rest
  /// is copied. Errors: kInvalid for what breaks the protocol or a limit, kUnavailable when the
  /// store is full.
  Result<void> received(std::string_view bytes);

  /// Whether part of a request is there. Then the next bytes are better read into buffer() right
  /// away, and received() takes only their number.
  bool request_begun() const { return !inbox_.unread().empty(); }
  std::span<char> buffer() { return inbox_.buffer(scanner_.missing()); }
  Result<void> received(std::size_t bytes);

  /// The replies that are still to be sent(), the first `bytes` of which are then forgotten.
  std::string_view output() const { return std::string_view{output_}.substr(sent_); }
  void sent(std::size_t bytes);

  /// Whether so much output is unread that no more requests are served until some of it is sent.
  bool must_drain() const { return output().size() >= state_.limits.unread_bytes_max; }

  /// Whether requests may be left that were not served because of that. While it is so, nothing
  /// more is to be read; when must_drain() no longer holds, proceed() serves them.
  bool paused() const { return paused_; }
  Result<void> proceed();

  /// Answers the client's WAIT if it has ended.
  void settle();

  /// The client has gone: its wait ends, and what it held of the store's budget is given back.
  void leave();

  ClientId id() const { return id_; }
  const std::string& address() const { return process_.address; }
  bool validated() const { return validated_; }

 private:
  Result<std::size_t> serve(std::string_view bytes);
  Result<void> perform(const StoreRequest& request);
  Result<void> account_for_buffers();

  Result<void> validate(const store_request::Validate& request);
  Result<void> add(const store_request::Add& request);
  Result<void> get_all(const StoreFields& keys);
  Result<void> set_all(const StoreFields& pairs);
  Result<void> list_keys();
  void pop(const store_request::QueuePop& request);
  Result<void> begin_wait(const Result<bool>& over);
  void cancel_wait();

  StoreKey place(std::string_view name);
  std::uint32_t own_space();
  void erase_abandoned_spaces();
  std::uint32_t seen_space() const;

  const ClientId id_;
  StoreState& state_;
  StoreInbox inbox_;
  RequestScanner scanner_;
  std::string output_;
  std::size_t sent_ = 0;
  std::size_t charged_ = 0;  // charged to the store's budget for the buffers here
  StoreProcess process_;
  std::uint32_t space_ = 0;  // the space of this connection's process group; 0: none so far
  bool validated_ = false;   // VALIDATE has come
  bool waiting_ = false;     // a WAIT is to be answered
  bool paused_ = false;
  bool announced_init_ = false;  // it belongs to init_process_group(): see init_epochs.hpp
};

}  // namespace ddprun
