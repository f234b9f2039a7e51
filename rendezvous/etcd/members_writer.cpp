#include "rendezvous/etcd/members_writer.hpp"

#include <utility>

namespace ddprun {

void MembersWriter::begin_term(const MembersRecord& record, TimePoint now) {
  due_ = now;
  revision_ = record.revision;
  has_found_ = !record.nodes.empty();
}

void MembersWriter::want(std::vector<std::string> nodes, int attempt) {
  if (nodes != nodes_) is_written_ = false;
  nodes_ = std::move(nodes);
  attempt_ = attempt;
  is_wanted_ = true;
}

EtcdRequest MembersWriter::next_request(std::int64_t epoch) const {
  if (lease_.id == 0) return GrantLease{whole_seconds(heartbeat_timeout_ * kMembersTimeouts)};
  return PutMembers{epoch, {epoch, nodes_, "", revision_, attempt_}, lease_.id};
}

bool MembersWriter::written(std::int64_t revision, const std::vector<std::string>& nodes) {
  revision_ = revision;
  if (nodes != nodes_) return false;
  is_wanted_ = has_found_ = false;
  is_written_ = true;
  due_ = lease_.sent + heartbeat_timeout_;
  return true;
}

bool MembersWriter::has_expired(std::int64_t revision) {
  revision_ = revision;
  return revision == 0 && std::exchange(has_found_, false);
}

void MembersWriter::renewed(TimePoint sent) {
  lease_.sent = sent;
  due_ = sent + heartbeat_timeout_;
}

void MembersWriter::lose_lease() {
  lease_ = {};
  is_written_ = false;
  is_wanted_ = true;
}

TimePoint MembersWriter::held_until() const {
  return is_written_ && lease_.id != 0 ? lease_.used_until(lease_.ttl) : TimePoint{};
}

}  // namespace ddprun
