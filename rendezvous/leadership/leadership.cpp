#include "rendezvous/leadership/leadership.hpp"

#include <algorithm>

#include "rendezvous/leadership/elected.hpp"
#include "rendezvous/leadership/etcd_led.hpp"
#include "rendezvous/leadership/server_led.hpp"

namespace ddprun {

Voter voter_of(const VoterJoined& event) {
  return {.id = event.node,
          .state = event.state,
          .counters = event.counters,
          .standby = event.standby,
          .witness = event.witness,
          .is_voter = event.is_voter};
}

std::optional<Redirect> redirect_to(const Leader& followed, const Join& join) {
  const bool knows_better = !followed.coordinator.empty() && followed.epoch > join.voter.promised &&
                            join.voter.running == 0;
  if (!knows_better) return std::nullopt;
  return Redirect{followed.coordinator, followed.epoch};
}

int rank_among(const std::vector<NodeId>& members, const NodeId& node) {
  const auto found = std::ranges::find(members, node);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

LeadershipActions Leadership::step(const LeadershipEvent& event, TimePoint) {
  const auto* const joined = std::get_if<VoterJoined>(&event);
  if (joined == nullptr || joined->resumed) return {};
  return {AdmitVoter{joined->node}};
}

Beat Leadership::answer(TimePoint now) const { return {.clock_us = microseconds(now)}; }

std::unique_ptr<Leadership> make_leadership(const CoordinatorRules& rules) {
  switch (rules.leadership) {
    case LeadershipKind::kAlone:
      return std::make_unique<Leadership>();
    case LeadershipKind::kElected:
      return std::make_unique<Elected>(rules);
    case LeadershipKind::kEtcd:
      return std::make_unique<EtcdLed>(rules);
    case LeadershipKind::kServer:
      return std::make_unique<ServerLed>(rules);
  }
  return nullptr;
}

}  // namespace ddprun
