#include "rendezvous/leadership/server_led.hpp"

#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

ServerLed::ServerLed(const CoordinatorRules& rules)
    : lease_ms_{kFollowerCounts.of(rules.terms.heartbeat_timeout).count()},
      recovery_{rules.server_since + kFollowerCounts.of(rules.terms.heartbeat_timeout)} {}

LeadershipActions ServerLed::step(const LeadershipEvent& event, TimePoint now) {
  now_ = now;
  if (const auto* joined = std::get_if<VoterJoined>(&event)) {
    if (joined->standby.empty())
      probed_.erase(joined->node);
    else
      probed_.insert(joined->node);
  } else if (const auto* left = std::get_if<VoterLeft>(&event)) {
    probed_.erase(left->node);
  }
  return Leadership::step(event, now);
}

std::optional<TimePoint> ServerLed::next_tick() const {
  const TimePoint end = recovery_.unknown_workers_end();
  return end > now_ ? std::optional{end} : std::nullopt;
}

/// Nodes that have never heard of a round cannot tell that there is none.
bool ServerLed::may(Permission permission, TimePoint now) {
  if (permission == Permission::kFinishRound) return recovery_.absent() == 0;
  return permission != Permission::kBeginRound || now >= recovery_.unknown_workers_end();
}

RoundTerms ServerLed::begin_round(int, const std::vector<NodeId>&, TimePoint) {
  recovery_.end();
  return {.lease_ms = lease_ms_};
}

Beat ServerLed::answer(TimePoint now) const {
  return {.clock_us = microseconds(now), .lease_ms = lease_ms_};
}

Outlives ServerLed::outlives(const NodeId& node) const {
  return probed_.contains(node) ? Outlives::kForLease : Outlives::kNo;
}

}  // namespace ddprun
