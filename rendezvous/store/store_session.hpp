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
#pragma once

#include <cstdint>
#include <memory>
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
