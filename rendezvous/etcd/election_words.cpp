#include "rendezvous/etcd/election_words.hpp"

namespace ddprun {

std::optional<EndJob> verdict_in(const std::string& line) {
  const auto message = decode_coordinator_message(line);
  if (line.empty() || !message || !std::holds_alternative<EndJob>(*message)) return std::nullopt;
  return std::get<EndJob>(*message);
}

Campaign::Seek seek_of(const VoterState& voter, std::int64_t lost) {
  return {voter.proposed.version.round > 0, lost, voter.leader_dead && lost == voter.epoch};
}

Campaign::Event for_etcd(const WriteMembers& wish) {
  return Campaign::WriteMembers{wish.nodes, wish.attempt};
}

Campaign::Event for_etcd(const PublishVerdict& end) {
  return Campaign::JobEnded{encode(CoordinatorMessage{end.verdict})};
}

}  // namespace ddprun
