#include "tests/simulation/witness_shell.hpp"

#include <string>
#include <utility>

#include "base/match.hpp"

namespace ddprun::simulation {

WitnessShell::WitnessShell(World& world, Watcher& watcher) : world_{world}, watcher_{watcher} {
  world_.network.put_coordinator(kNumber, kHost);
  begin();
}

void WitnessShell::begin() {
  const auto fresh_id = [this] { return "witness" + std::to_string(++ids_); };
  machine_.emplace(fresh_id, "host" + std::to_string(kHost));
}

void WitnessShell::invited(LinkId link, const InviteWitness& invitation) {
  if (frozen_) return held_.push_back([this, link, invitation] { invited(link, invitation); });
  if (gone_) return world_.network.close(link, Side::kAgent);
  links_.insert(link);
  perform(machine_->invited(link, invitation, world_.time.now()));
}

void WitnessShell::receive(LinkId link, const Parcel& parcel) {
  if (frozen_) return held_.push_back([this, link, parcel] { receive(link, parcel); });
  if (gone_ || !links_.contains(link)) return;
  const TimePoint now = world_.time.now();
  if (std::holds_alternative<HangUp>(parcel)) {
    drop(link);
    perform(machine_->lost(link, now));
  } else {
    perform(machine_->told(link, std::get<CoordinatorMessage>(parcel), now));
  }
}

std::optional<Leader> WitnessShell::tells(int host_of_asker) const {
  if (gone_ || frozen_ || !world_.network.can_connect(host_of_asker, kHost)) return std::nullopt;
  return machine_->leader(world_.time.now());
}

void WitnessShell::perform(const std::vector<WitnessAction>& actions) {
  for (const WitnessAction& action : actions)
    match(
        action,
        [&](const SayTo& a) {
          const auto link = static_cast<LinkId>(a.to);
          if (links_.contains(link)) world_.network.send(link, Side::kAgent, a.message);
        },
        [&](const SendAway& a) {
          const auto link = static_cast<LinkId>(a.to);
          world_.network.send(link, Side::kAgent, CoordinatorMessage{a.where});
          drop(link);
        },
        [&](const HangUpOn& a) { drop(static_cast<LinkId>(a.to)); });
  arm();
}

void WitnessShell::drop(LinkId link) {
  if (links_.erase(link) > 0) world_.network.close(link, Side::kAgent);
}

void WitnessShell::tick() {
  if (frozen_ || gone_) return;
  const auto due = machine_->next_tick();
  if (due && world_.time.now() >= *due) {
    perform(machine_->tick(world_.time.now()));
    watcher_.rang("witness", machine_->next_tick());
  }
  arm();
}

void WitnessShell::arm() {
  timer_.set(machine_->next_tick(), [this] { tick(); });
}

void WitnessShell::thaw() {
  if (!frozen_) return;
  frozen_ = false;
  if (world_.random.chance(50)) tick();
  for (const Timeline::Task& task : std::exchange(held_, {})) task();
  tick();
}

void WitnessShell::end(bool told) {
  gone_ = true;
  frozen_ = false;
  held_.clear();
  for (const LinkId link : std::exchange(links_, {})) {
    if (told)
      world_.network.close(link, Side::kAgent);
    else
      world_.network.break_link(link, std::nullopt, std::nullopt);
  }
  world_.network.refuse(kNumber);
}

void WitnessShell::begin_again() {
  gone_ = false;
  world_.network.listen(kNumber);
  begin();
}

}  // namespace ddprun::simulation
