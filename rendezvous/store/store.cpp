#include "rendezvous/store/store.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <new>
#include <utility>

#include "base/text.hpp"

namespace ddprun {

namespace {

// An element of a queue takes so much besides its bytes, with its share of the queue itself.
constexpr std::size_t kQueuedOverhead = 96;

// A client at a barrier must not be woken by a write of the key that counts arrivals. So these
// waits are kept in spaces of their own.
constexpr std::uint32_t kBarrierSpaces = 0x8000'0000;

std::size_t queued_cost(const StoreKey& key, std::string_view value) {
  return key.name.size() + value.size() + kQueuedOverhead;
}

// Reads a number as torch's server does, which calls std::stoll: spaces, a sign and digits,
// whatever follows.
std::optional<std::int64_t> parse_leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

Store::Store(std::size_t memory_bytes_max, std::shared_ptr<StoreBudget> whole)
    : budget_{memory_bytes_max, std::move(whole)}, table_{budget_}, waits_{budget_} {}

// Only a new key can end a wait, because no client waits for a key that exists.
Result<void> Store::written(const StoreKey& key, const Result<StoreTable::Outcome>& outcome) {
  if (!outcome) return outcome.error();
  if (*outcome == StoreTable::Outcome::kCreated) waits_.tick_all(key, ready_);
  return {};
}

Result<void> Store::set(const StoreKey& key, std::string_view value) {
  return written(key, table_.put(key, value));
}

Result<void> Store::append(const StoreKey& key, std::string_view value) {
  return written(key, table_.append(key, value));
}

Result<void> Store::multi_set(std::span<const Pair> pairs) {
  std::size_t most = 0;
  for (const Pair& pair : pairs) most += StoredPair::cost(pair.key.name.size(), pair.value.size());
  if (const auto charged = budget_.charge(most); !charged) return charged.error();
  budget_.release(most);
  for (const Pair& pair : pairs) {
    if (const auto done = set(pair.key, pair.value); !done) return done.error();
  }
  return {};
}

Result<std::string_view> Store::compare_set(const StoreKey& key, std::string_view expected,
                                            std::string_view desired) {
  const auto current = table_.find(key);
  if (current && *current != expected) return *current;
  if (!current && !expected.empty()) return expected;
  if (const auto done = set(key, desired); !done) return done.error();
  return desired;
}

std::optional<std::string_view> Store::get(const StoreKey& key) const { return table_.find(key); }

Result<std::int64_t> Store::add(const StoreKey& key, std::int64_t amount) {
  const auto before = parse_leading_number(table_.find(key).value_or("0"));
  if (!before) {
    return Error{Error::Kind::kInvalid, "ADD to key " + printable(key.name) + ", whose value " +
                                            printable(*table_.find(key)) + " is not a number"};
  }
  const std::int64_t sum = wrapping_sum(*before, amount);
  char text[24];
  const char* end = std::to_chars(text, text + sizeof text, sum).ptr;
  const auto done = set(key, {text, static_cast<std::size_t>(end - text)});
  if (!done) return done.error();
  return sum;
}

bool Store::erase(const StoreKey& key) { return table_.erase(key); }

Result<void> Store::queue_push(const StoreKey& key, std::string_view value) {
  if (const auto charged = budget_.charge(queued_cost(key, value)); !charged) {
    return charged.error();
  }
  auto queue = queues_.find(key);
  try {
    if (queue == queues_.end()) queue = queues_.try_emplace(OwnedStoreKey{key}).first;
    queue->second.emplace_back(value);
  } catch (const std::bad_alloc&) {  // as if it had never been asked for
    budget_.release(queued_cost(key, value));
    if (queue != queues_.end() && queue->second.empty()) queues_.erase(queue);
    throw;
  }
  waits_.tick_until_one(key, ready_);
  return {};
}

Store::Popped Store::queue_pop(const StoreKey& key) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return {};
  auto& values = queue->second;
  Popped popped{values.size(), std::move(values.front())};
  values.pop_front();
  budget_.release(queued_cost(key, popped.value));
  if (values.empty()) queues_.erase(queue);
  return popped;
}

std::size_t Store::queue_length(const StoreKey& key) const {
  const auto queue = queues_.find(key);
  return queue == queues_.end() ? 0 : queue->second.size();
}

bool Store::exists(const StoreKey& key) const {
  return table_.contains(key) || (!queues_.empty() && queues_.contains(key));
}

bool Store::exists(std::span<const StoreKey> keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const StoreKey& key) { return exists(key); });
}

Result<bool> Store::wait(ClientId client, std::span<const StoreKey> keys) {
  boost::container::small_vector<StoreKey, 8> missing;
  for (const StoreKey& key : keys) {
    if (!exists(key)) missing.push_back(key);
  }
  if (missing.empty()) return true;
  if (const auto parked = waits_.park(client, missing); !parked) return parked.error();
  return false;
}

Result<bool> Store::barrier(ClientId client, const StoreKey& key, std::int64_t world_size) {
  const auto arrived = add(key, 1);
  if (!arrived) return arrived.error();
  const StoreKey line{key.name, key.space | kBarrierSpaces};
  if (*arrived >= world_size) {
    waits_.tick_all(line, ready_);
    return true;
  }
  if (const auto parked = waits_.park(client, {&line, 1}); !parked) return parked.error();
  return false;
}

void Store::release(const StoreKey& key, const std::deque<std::string>& queue) {
  for (const std::string& value : queue) budget_.release(queued_cost(key, value));
}

void Store::erase_space(std::uint32_t space) {
  table_.erase_space(space);
  std::erase_if(queues_, [&](const auto& queue) {
    const StoreKey key = queue.first.key();
    if (key.space == space) release(key, queue.second);
    return key.space == space;
  });
}

void Store::clear() {
  table_.clear();
  waits_.clear();
  for (const auto& [owned, queue] : queues_) release(owned.key(), queue);
  queues_.clear();
  ready_.clear();
}

}  // namespace ddprun
