// StoreSession: one client of the worker store: bytes in, bytes out, given the Store.
//
// It is passive: no socket, no clock. It is told what was received(), and its output() is sent.
// An error means that the connection must be closed, and says why in a sentence. After any call the
// Store may hold clients whose wait has ended (Store::take_ready); the server calls settle() of
// each.
//
// Pipelined requests are answered in order. A WAIT is answered when it ends, and requests behind it
// are served meanwhile. A second WAIT that cannot be answered at once takes the first one's place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rendezvous/store/init_epochs.hpp"
#include "rendezvous/store/store.hpp"
#include "rendezvous/store/store_inbox.hpp"
#include "rendezvous/store/store_limits.hpp"
#include "rendezvous/store/store_protocol.hpp"

namespace ddprun {

/// What all sessions of one server share.
struct StoreState {
  explicit StoreState(const StoreLimits& store_limits)
      : limits{store_limits}, store{store_limits.memory_bytes_max} {}

  const StoreLimits limits;
  Store store;
  InitEpochs epochs;
};

class StoreSession {
 public:
  StoreSession(ClientId id, std::string address, StoreState& state);

  /// What follows. Whole requests are served where they are; only the rest is copied.
  Result<void> received(std::string_view bytes);

  /// Part of a request is there: the next bytes are better read into room() right away, and then
  /// told by their number.
  bool request_begun() const { return !inbox_.unread().empty(); }
  std::span<char> room() { return inbox_.room(scanner_.missing()); }
  Result<void> received(std::size_t bytes);

  std::string_view output() const { return std::string_view{output_}.substr(sent_); }
  void sent(std::size_t bytes);

  /// The client must read before more of its requests are served.
  bool must_drain() const { return output().size() >= state_.limits.unread_bytes_max; }

  /// Requests may be left that were not served because of that: once it has, proceed(). Until then
  /// nothing must be read.
  bool paused() const { return paused_; }
  Result<void> proceed();

  /// Answers the WAIT, if it has ended.
  void settle();

  /// The client is gone.
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
  std::size_t charged_ = 0;  // to the store's budget, for our buffers
  StoreProcess process_;
  std::uint32_t space_ = 0;  // of the process group this connection serves; 0: none so far
  bool validated_ = false;
  bool waiting_ = false;
  bool paused_ = false;
  bool announced_init_ = false;
};

}  // namespace ddprun
