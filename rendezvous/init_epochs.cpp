#include "rendezvous/init_epochs.hpp"

namespace ddprun {

std::uint32_t InitEpochs::enter(const StoreProcess& process) {
  const auto known = epochs_.find(process);
  const std::uint32_t next = known == epochs_.end() ? 1 : known->second + 1;
  const bool leaves_too_early = next > 1 && !full(next - 1);
  const bool comes_too_late = next <= newest() && full(next);
  if (leaves_too_early || comes_too_late) sharing_ = true;
  if (sharing_) {
    if (known != epochs_.end()) known->second = newest();
    return newest();
  }
  if (next > newest()) members_.push_back(0);
  ++members_[next - 1];
  epochs_[process] = next;
  return next;
}

std::uint32_t InitEpochs::current(const StoreProcess& process) const {
  const auto known = epochs_.find(process);
  return known == epochs_.end() ? newest() : known->second;
}

}  // namespace ddprun
