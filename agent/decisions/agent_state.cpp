#include "agent/decisions/agent_state.hpp"

#include <algorithm>

#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

namespace {

/// The coordinator compares the ends and the arrivals of all nodes, so they are reported in its
/// time.
void tell_in_its_time(AgentMessage& message, std::int64_t offset_us) {
  const auto shift = [&](WorkerEnd& end) {
    end.began_us += offset_us;
    end.ended_us += offset_us;
  };
  if (auto* failed = std::get_if<WorkerFailed>(&message)) shift(failed->end);
  if (auto* ended = std::get_if<WorkersEnded>(&message)) std::ranges::for_each(ended->ends, shift);
  if (auto* arrived = std::get_if<Arrivals>(&message))
    for (GroupArrivals& group : arrived->groups) group.at_us += offset_us;
}

}  // namespace

void AgentState::tell(AgentMessage message) {
  if (!contact) return;
  tell_in_its_time(message, contact->clock_offset_us());
  act(Tell{std::move(message)});
}

void AgentState::beat(TimePoint now) {
  tell(follower.beat(now));
  contact->beats_at(now + beat_interval());
}

std::chrono::milliseconds AgentState::beat_interval() const {
  return std::max(kBeat.of(rules.terms.heartbeat_timeout), std::chrono::milliseconds{1});
}

}  // namespace ddprun
