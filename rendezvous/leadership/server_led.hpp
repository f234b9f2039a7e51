// ServerLed: the leadership of a `ddprun server`, the only one that coordinates its jobs. It has
// no successor, but may be started again and go on with their rounds. Pure.
// docs/internals/succession.md, section "A server that is started again".
#pragma once

#include <set>

#include "rendezvous/leadership/leadership.hpp"

namespace ddprun {

class ServerLed final : public Leadership {
 public:
  explicit ServerLed(const CoordinatorRules& rules);

  LeadershipActions step(const LeadershipEvent& event, TimePoint now) override;
  std::optional<TimePoint> next_tick() const override;
  bool may(Permission permission, TimePoint now) override;
  TimePoint unknown_workers_end() const override { return recovery_.unknown_workers_end(); }
  RoundTerms begin_round(int round, const std::vector<NodeId>& members, TimePoint now) override;
  Beat answer(TimePoint now) const override;
  Outlives outlives(const NodeId& node) const override;
  RoundRecovery* recovery() override { return &recovery_; }

 private:
  std::int64_t lease_ms_;
  RoundRecovery recovery_;
  std::set<NodeId> probed_;  // nodes that say a process listens there
  TimePoint now_;            // time of the last event
};

}  // namespace ddprun
