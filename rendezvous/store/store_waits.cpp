#include "rendezvous/store/store_waits.hpp"

#include <new>

namespace ddprun {

namespace {

std::size_t cost_of(std::span<const StoreKey> keys) {
  constexpr std::size_t kOverheadPerKey = 192;  // a Tick, and a Line when no other waits there
  std::size_t bytes = 0;
  for (const StoreKey& key : keys) bytes += key.name.size() + kOverheadPerKey;
  return bytes;
}

}  // namespace

Result<void> StoreWaits::park(ClientId client, std::span<const StoreKey> keys) {
  forget(client);
  const std::size_t cost = cost_of(keys);
  if (const auto charged = budget_.charge(cost); !charged) return charged.error();
  Wait& wait = add(client, keys.size(), cost);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto line = lines_.find(keys[i]);
    if (line == lines_.end()) {
      line = lines_.try_emplace(OwnedStoreKey{keys[i]}).first;
    }
    wait.ticks[i].wait = &wait;
    wait.ticks[i].line = &*line;
    line->second.push_back(wait.ticks[i]);
  }
  return {};
}

StoreWaits::Wait& StoreWaits::add(ClientId client, std::size_t keys, std::size_t cost) try {
  return waits_.emplace(client, Wait{client, keys, std::vector<Tick>(keys), cost}).first->second;
} catch (const std::bad_alloc&) {
  budget_.release(cost);
  throw;
}

void StoreWaits::forget(ClientId client) {
  const auto found = waits_.find(client);
  if (found == waits_.end()) return;
  for (Tick& tick : found->second.ticks) {
    if (!tick.is_linked()) continue;  // ticked off
    tick.unlink();
    if (tick.line->second.empty()) lines_.erase(lines_.find(tick.line->first.key()));
  }
  end(found->second);
}

void StoreWaits::clear() {
  for (const auto& [client, wait] : waits_) budget_.release(wait.cost);
  waits_.clear();  // unlinks every tick
  lines_.clear();
}

void StoreWaits::tick_all(const StoreKey& key, std::vector<ClientId>& ready) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  while (!line->second.empty()) tick_first(line->second, ready);
  lines_.erase(line);
}

void StoreWaits::tick_until_one(const StoreKey& key, std::vector<ClientId>& ready) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  while (!line->second.empty() && !tick_first(line->second, ready)) continue;
  if (line->second.empty()) lines_.erase(line);
}

bool StoreWaits::tick_first(Line& line, std::vector<ClientId>& ready) {
  Wait& wait = *line.front().wait;
  line.pop_front();
  if (--wait.outstanding > 0) return false;
  ready.push_back(wait.client);
  end(wait);
  return true;
}

void StoreWaits::end(Wait& wait) {
  budget_.release(wait.cost);
  waits_.erase(wait.client);
}

}  // namespace ddprun
