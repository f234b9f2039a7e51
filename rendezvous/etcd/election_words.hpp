// What etcd says of a job, in the words of the leadership of its coordinator, and the other way
// round. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/match.hpp"
#include "rendezvous/etcd/campaign.hpp"
#include "rendezvous/leadership/leadership.hpp"

namespace ddprun {

/// How the job has ended, as a coordinator has written it; nullopt: it has not.
std::optional<EndJob> verdict_in(const std::string& line);

/// What an agent asks for that needs the coordinator and knows this: `lost` is the epoch of one
/// that cannot be reached, 0 for none.
Campaign::Seek seek_of(const VoterState& voter, std::int64_t lost);

/// What the coordinator wants from etcd.
Campaign::Event for_etcd(const WriteMembers& wish);
Campaign::Event for_etcd(const PublishVerdict& end);

/// Calls `hear` with what was said, unless it is for others than the coordinator.
template <typename Hear>
void tell_coordinator(const Campaign::Action& said, const Hear& hear) {
  match(
      said,
      [&](const Campaign::Elected& e) {
        hear(ElectedByEtcd{e.epoch, e.members.epoch, e.members.nodes, e.by_death,
                           verdict_in(e.members.verdict), e.members.attempt});
      },
      [&](const Campaign::Held& e) {
        hear(LeaseHeld{e.alone, e.members});
      },
      [&](const Campaign::MembersWritten& e) { hear(MembersWritten{e.nodes}); },
      [&](const Campaign::MembersExpired&) { hear(MembersExpired{}); },
      [&](const Campaign::VerdictWritten&) { hear(VerdictPublished{}); },
      [&](const Campaign::Replaced& e) {
        hear(HigherEpoch{e.epoch, e.endpoint});
      },
      [](const auto&) {});
}

}  // namespace ddprun
