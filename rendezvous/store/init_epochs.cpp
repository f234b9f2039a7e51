#include "rendezvous/store/init_epochs.hpp"

namespace ddprun {

std::uint32_t InitEpochs::enter(const StoreProcess& process) {
  if (process.pid == 0) return enter_nameless();
  const auto known = epochs_.find(process);
  const std::uint32_t next = known == epochs_.end() ? 1 : known->second + 1;
  const bool leaves_too_early = next > 1 && !full(next - 1);
  const bool comes_too_late = next <= newest() && full(next);
  if (leaves_too_early || comes_too_late) sharing_ = true;
  if (sharing_) {
    if (known != epochs_.end()) move(known, newest());
    return newest();
  }
  if (next > newest()) members_.push_back(0);
  ++members_[next - 1];
  move(epochs_.try_emplace(process, 0).first, next);
  return next;
}

std::uint32_t InitEpochs::enter_nameless() {
  if (!sharing_ && full(newest())) {
    members_.push_back(0);
    // Only connections have used the one before, and they may all be closed by now.
    if (!users_.contains(newest() - 1)) abandoned_.push_back(newest() - 1);
  }
  ++members_[newest() - 1];
  return newest();
}

void InitEpochs::move(std::map<StoreProcess, std::uint32_t>::iterator process,
                      std::uint32_t epoch) {
  use(epoch);
  const std::uint32_t left = std::exchange(process->second, epoch);
  if (left != 0) release(left);
}

// An epoch without users is abandoned when it is not the newest: no process enters an older one,
// because that is full or sharing has begun.
void InitEpochs::release(std::uint32_t epoch) {
  const auto users = users_.find(epoch);
  if (users == users_.end() || --users->second > 0) return;
  users_.erase(users);
  if (epoch < newest()) abandoned_.push_back(epoch);
}

std::uint32_t InitEpochs::current(const StoreProcess& process) const {
  const auto known = epochs_.find(process);
  return known == epochs_.end() ? newest() : known->second;
}

}  // namespace ddprun
