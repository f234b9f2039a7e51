#include "rendezvous/store/store_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace ddprun {

namespace {

constexpr std::size_t kValueBytesMax = std::numeric_limits<std::uint32_t>::max() / 2;

// The allocator (8 and up to 15 bytes) and the table (9 bytes at a load of 7/16 to 7/8) add this to
// a block.
constexpr std::size_t kBlockOverhead = 32;

void copy(char* to, std::string_view from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

StoredPair::StoredPair(const StoreKey& key, std::string_view value)
    : block_{
          std::make_unique_for_overwrite<char[]>(sizeof(Sizes) + key.name.size() + value.size())} {
  const auto value_bytes = static_cast<std::uint32_t>(value.size());
  new (block_.get())
      Sizes{static_cast<std::uint32_t>(key.name.size()), value_bytes, value_bytes, key.space};
  copy(block_.get() + sizeof(Sizes), key.name);
  copy(value_begin(), value);
}

StoreKey StoredPair::key() const {
  return {{block_.get() + sizeof(Sizes), sizes().key}, sizes().space};
}

std::string_view StoredPair::value() const { return {value_begin(), sizes().value}; }

std::size_t StoredPair::cost(std::size_t key_bytes, std::size_t value_capacity) {
  return sizeof(Sizes) + key_bytes + value_capacity + kBlockOverhead;
}

std::uint32_t StoredPair::capacity_for(std::size_t bytes, bool growing) const {
  const std::size_t capacity = sizes().value_capacity;
  const bool fits = bytes <= capacity;
  const bool wasteful = !growing && capacity > 2 * bytes + 64;
  if (fits && !wasteful) return sizes().value_capacity;
  return static_cast<std::uint32_t>(growing ? std::max(bytes, 2 * capacity) : bytes);
}

void StoredPair::reallocate(std::uint32_t capacity, std::uint32_t bytes_kept) const {
  const Sizes old = sizes();
  auto block = std::make_unique_for_overwrite<char[]>(sizeof(Sizes) + old.key + capacity);
  new (block.get()) Sizes{old.key, bytes_kept, capacity, old.space};
  std::memcpy(block.get() + sizeof(Sizes), block_.get() + sizeof(Sizes),
              std::size_t{old.key} + bytes_kept);
  block_ = std::move(block);
}

void StoredPair::assign(std::string_view value, std::uint32_t capacity) const {
  if (capacity != sizes().value_capacity) reallocate(capacity, 0);
  copy(value_begin(), value);
  const_cast<StoredPair*>(this)->sizes().value = static_cast<std::uint32_t>(value.size());
}

void StoredPair::append(std::string_view value, std::uint32_t capacity) const {
  if (capacity != sizes().value_capacity) reallocate(capacity, sizes().value);
  copy(value_begin() + sizes().value, value);
  const_cast<StoredPair*>(this)->sizes().value += static_cast<std::uint32_t>(value.size());
}

std::optional<std::string_view> StoreTable::find(const StoreKey& key) const {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return std::nullopt;
  return found->value();
}

Result<StoreTable::Outcome> StoreTable::put(const StoreKey& key, std::string_view value) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return create(key, value);
  return change(*found, value.size(), false,
                [&](std::uint32_t capacity) { found->assign(value, capacity); });
}

Result<StoreTable::Outcome> StoreTable::append(const StoreKey& key, std::string_view value) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return create(key, value);
  return change(*found, found->value().size() + value.size(), true,
                [&](std::uint32_t capacity) { found->append(value, capacity); });
}

Result<StoreTable::Outcome> StoreTable::create(const StoreKey& key, std::string_view value) {
  const std::size_t cost = StoredPair::cost(key.name.size(), value.size());
  const auto charged = budget_.charge(cost);
  if (!charged) return charged.error();
  try {
    std::size_t& size = sizes_[key.space];
    pairs_.emplace(key, value);
    ++size;
  } catch (const std::bad_alloc&) {
    budget_.release(cost);
    throw;
  }
  return Outcome::kCreated;
}

template <typename Write>
Result<StoreTable::Outcome> StoreTable::change(const StoredPair& pair, std::size_t bytes,
                                               bool growing, Write write) {
  if (bytes > kValueBytesMax) {
    return Error{Error::Kind::kInvalid, "a value would grow to " + std::to_string(bytes) +
                                            " bytes, more than the store can hold"};
  }
  const std::uint32_t capacity = pair.capacity_for(bytes, growing);
  const std::size_t before = pair.cost();
  const std::size_t after = StoredPair::cost(pair.key().name.size(), capacity);
  if (const auto charged = budget_.change(before, after); !charged) return charged.error();
  try {
    write(capacity);
  } catch (const std::bad_alloc&) {  // the pair is as it was
    static_cast<void>(budget_.change(after, before));
    throw;
  }
  return Outcome::kChanged;
}

bool StoreTable::erase(const StoreKey& key) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return false;
  budget_.release(found->cost());
  --sizes_[key.space];
  pairs_.erase(found);
  return true;
}

void StoreTable::erase_space(std::uint32_t space) {
  boost::unordered::erase_if(pairs_, [&](const StoredPair& pair) {
    const bool chosen = pair.key().space == space;
    if (chosen) budget_.release(pair.cost());
    return chosen;
  });
  sizes_.erase(space);
}

void StoreTable::clear() {
  for (const StoredPair& pair : pairs_) budget_.release(pair.cost());
  pairs_ = Pairs();
  sizes_.clear();
}

std::size_t StoreTable::size(std::uint32_t space) const {
  const auto of = [&](std::uint32_t which) {
    const auto found = sizes_.find(which);
    return found == sizes_.end() ? 0 : found->second;
  };
  return of(0) + (space == 0 ? 0 : of(space));
}

}  // namespace ddprun
