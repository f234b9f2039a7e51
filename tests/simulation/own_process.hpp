// OwnProcess: what else is in the process of an agent: what may coordinate the job there, and who
// asks an etcd, where one says who does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "rendezvous/etcd/campaign.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun::simulation {

class OwnProcess {
 public:
  /// Gets where the coordinator is; nullopt: etcd has not said so before the deadline.
  using Sought = std::function<void(const std::optional<Campaign::Found>&)>;

  virtual ~OwnProcess() = default;

  /// The agent obeys that leader.
  virtual void led_by(const Leader&) = 0;
  /// Whether there is an etcd that seek() asks.
  virtual bool can_seek() const = 0;
  virtual void seek(const Campaign::Seek& wish, TimePoint deadline, Sought sought) = 0;
  /// The agent has ended, so its process does, too.
  virtual void agent_ended() = 0;
};

}  // namespace ddprun::simulation
