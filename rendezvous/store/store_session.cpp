#include "rendezvous/store/store_session.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <utility>
#include <vector>

#include "base/match.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using namespace store_request;

constexpr std::string_view kInitCounter = "init/";
constexpr std::string_view kGroupKeys = "/default_pg/";
constexpr std::string_view kAttempt = "//worker/attempt_";
constexpr std::size_t kOutputKept = 512;                     // capacity that a silent client keeps
constexpr std::size_t kBuffersFree = std::size_t{64} << 10;  // each client has them free of charge

enum WaitAnswer : std::uint8_t { kStopWaiting = 0, kWaitCancelled = 1 };
enum CheckAnswer : std::uint8_t { kReady = 0, kNotReady = 1 };

using Keys = boost::container::small_vector<StoreKey, 8>;

template <typename Place>
Keys to_keys(const StoreFields& fields, Place&& place) {
  Keys keys;
  keys.reserve(fields.count);
  FieldReader reader = fields.read();
  for (std::size_t i = 0; i < fields.count; ++i) keys.push_back(place(reader.next()));
  return keys;
}

// Whether it is a key of a process group. torch before 2.6 puts "//worker/attempt_N" in front.
bool is_group_key(std::string_view name) {
  if (name.starts_with(kAttempt)) {
    name.remove_prefix(std::min(name.find('/', kAttempt.size()), name.size()));
  }
  return name.starts_with(kGroupKeys);
}

Error too_long_a_reply(std::size_t bytes_max) {
  return {Error::Kind::kInvalid,
          "asked for a reply of more than the " + std::to_string(bytes_max) + " bytes allowed"};
}

}  // namespace

StoreSession::StoreSession(ClientId id, std::string address, StoreState& state)
    : id_{id}, state_{state}, scanner_{state.limits}, process_{std::move(address), 0} {}

Result<void> StoreSession::received(std::size_t bytes) {
  inbox_.arrived(bytes);
  return proceed();
}

Result<void> StoreSession::received(std::string_view bytes) {
  if (request_begun()) {
    inbox_.append(bytes);
    return proceed();
  }
  const auto served = serve(bytes);
  if (!served) return served.error();
  inbox_.append(bytes.substr(*served));
  return account_for_buffers();
}

Result<void> StoreSession::proceed() {
  const auto served = serve(inbox_.unread());
  if (!served) return served.error();
  inbox_.consume(*served);
  return account_for_buffers();
}

// Performs the whole requests that `bytes` begin with, and returns how many bytes they were.
Result<std::size_t> StoreSession::serve(std::string_view bytes) {
  std::size_t served = 0;
  while (!(paused_ = must_drain())) {
    if (!validated_ && !bytes.empty() && bytes.front() != kStoreFirstByte) {
      return Error{Error::Kind::kInvalid,
                   "does not speak the store's protocol; it began with " + printable(bytes)};
    }
    const auto progress = scanner_.scan(bytes);
    if (progress == RequestScanner::Progress::kInvalid) return scanner_.error();
    if (progress == RequestScanner::Progress::kMore) break;
    if (const auto done = perform(scanner_.request(bytes)); !done) return done.error();
    served += scanner_.size();
    bytes.remove_prefix(scanner_.size());
    scanner_.restart();
    settle();
  }
  return served;
}

Result<void> StoreSession::account_for_buffers() {
  const std::size_t held = inbox_.capacity() + output_.capacity();
  const std::size_t charge = held > kBuffersFree ? held - kBuffersFree : 0;
  if (charge == charged_) return {};
  auto charged = state_.store.budget().change(charged_, charge);
  if (charged) charged_ = charge;
  return charged;
}

void StoreSession::sent(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < output_.size()) return;
  sent_ = 0;
  output_.clear();
  if (output_.capacity() > kOutputKept) output_ = {};
}

void StoreSession::settle() {
  if (!waiting_ || state_.store.waits(id_)) return;
  waiting_ = false;
  write_byte(output_, kStopWaiting);
}

void StoreSession::leave() {
  state_.store.cancel_wait(id_);
  state_.store.budget().release(std::exchange(charged_, 0));
  waiting_ = false;
  if (space_ != 0) state_.epochs.release(std::exchange(space_, 0));
  erase_abandoned_spaces();
}

void StoreSession::erase_abandoned_spaces() {
  for (const std::uint32_t space : state_.epochs.take_abandoned()) state_.store.erase_space(space);
}

Result<void> StoreSession::perform(const StoreRequest& request) {
  if (!validated_ && !std::holds_alternative<Validate>(request)) {
    return Error{Error::Kind::kInvalid, "sent a request before VALIDATE"};
  }
  Store& store = state_.store;
  const auto places = [&](const StoreFields& names) {
    return to_keys(names, [&](auto name) { return place(name); });
  };
  return match(
      request,  //
      [&](const Validate& r) { return validate(r); },
      [&](const Set& r) { return store.set(place(r.key), r.value); },
      [&](const CompareSet& r) -> Result<void> {
        const auto now = store.compare_set(place(r.key), r.expected, r.desired);
        if (!now) return now.error();
        write_bytes(output_, *now);
        return {};
      },
      [&](const Get& r) -> Result<void> {
        write_bytes(output_, store.get(place(r.key)).value_or(""));
        return {};
      },
      [&](const Add& r) { return add(r); },
      [&](const Check& r) -> Result<void> {
        write_byte(output_, store.exists(places(r.keys)) ? kReady : kNotReady);
        return {};
      },
      [&](const Wait& r) { return begin_wait(store.wait(id_, places(r.keys))); },
      [&](const CountKeys&) -> Result<void> {
        write_i64(output_, static_cast<std::int64_t>(store.key_count(seen_space())));
        return {};
      },
      [&](const DeleteKey& r) -> Result<void> {
        write_i64(output_, store.erase(place(r.key)) ? 1 : 0);
        return {};
      },
      [&](const Append& r) { return store.append(place(r.key), r.value); },
      [&](const MultiGet& r) { return get_all(r.keys); },
      [&](const MultiSet& r) { return set_all(r.pairs); },
      [&](const CancelWait&) -> Result<void> {
        cancel_wait();
        return {};
      },
      [&](const Ping& r) -> Result<void> {
        process_.pid = r.nonce;
        write_u32(output_, r.nonce);
        return {};
      },
      [&](const QueuePush& r) { return store.queue_push(place(r.key), r.value); },
      [&](const QueuePop& r) -> Result<void> {
        pop(r);
        return {};
      },
      [&](const QueueLength& r) -> Result<void> {
        write_i64(output_, static_cast<std::int64_t>(store.queue_length(place(r.key))));
        return {};
      },
      [&](const ListKeys&) { return list_keys(); },
      [&](const Barrier& r) { return begin_wait(store.barrier(id_, place(r.key), r.world_size)); });
}

Result<void> StoreSession::validate(const Validate& request) {
  if (validated_) return Error{Error::Kind::kInvalid, "sent VALIDATE a second time"};
  if (request.magic != kStoreMagic) {
    return Error{Error::Kind::kInvalid, "sent VALIDATE with a wrong number"};
  }
  validated_ = true;
  return {};
}

Result<void> StoreSession::add(const Add& request) {
  if (request.key == kInitCounter) announced_init_ = true;
  const auto sum = state_.store.add(place(request.key), request.amount);
  if (!sum) return sum.error();
  write_i64(output_, *sum);
  return {};
}

Result<void> StoreSession::get_all(const StoreFields& keys) {
  const std::size_t bytes_max = output_.size() + state_.limits.reply_bytes_max;
  FieldReader reader = keys.read();
  for (std::size_t i = 0; i < keys.count; ++i) {
    const auto value = state_.store.get(place(reader.next())).value_or("");
    if (output_.size() + sizeof(std::uint64_t) + value.size() > bytes_max) {
      return too_long_a_reply(state_.limits.reply_bytes_max);
    }
    write_bytes(output_, value);
  }
  return {};
}

Result<void> StoreSession::set_all(const StoreFields& pairs) {
  std::vector<Store::Pair> all;
  all.reserve(pairs.count);
  FieldReader reader = pairs.read();
  for (std::size_t i = 0; i < pairs.count; ++i) {
    const StoreKey key = place(reader.next());
    all.push_back({key, reader.next()});
  }
  return state_.store.multi_set(all);
}

Result<void> StoreSession::list_keys() {
  const std::size_t bytes_max = output_.size() + state_.limits.reply_bytes_max;
  const std::uint32_t space = seen_space();
  write_i64(output_, static_cast<std::int64_t>(state_.store.key_count(space)));
  state_.store.visit_keys(space, [&](std::string_view name) {
    if (output_.size() <= bytes_max) write_bytes(output_, name);
  });
  if (output_.size() > bytes_max) return too_long_a_reply(state_.limits.reply_bytes_max);
  return {};
}

void StoreSession::pop(const QueuePop& request) {
  const Store::Popped popped = state_.store.queue_pop(place(request.key));
  write_i64(output_, static_cast<std::int64_t>(popped.length_before));
  if (popped.length_before > 0) write_bytes(output_, popped.value);
}

Result<void> StoreSession::begin_wait(const Result<bool>& over) {
  if (!over) return over.error();
  if (*over) {
    write_byte(output_, kStopWaiting);
  } else {
    waiting_ = true;
  }
  return {};
}

void StoreSession::cancel_wait() {
  state_.store.cancel_wait(id_);
  waiting_ = false;
  write_byte(output_, kWaitCancelled);
}

// Finds the space in which a key is kept. init_epochs.hpp says why there is more than one.
StoreKey StoreSession::place(std::string_view name) {
  if (!state_.epochs.separate() || !is_group_key(name)) return {name, 0};
  return {name, own_space()};
}

std::uint32_t StoreSession::own_space() {
  if (space_ == 0) {
    space_ = announced_init_ ? state_.epochs.enter(process_) : state_.epochs.current(process_);
    state_.epochs.use(space_);
    erase_abandoned_spaces();
  }
  return space_;
}

std::uint32_t StoreSession::seen_space() const {
  if (!state_.epochs.separate()) return 0;
  return space_ != 0 ? space_ : state_.epochs.current(process_);
}

}  // namespace ddprun
