#include "rendezvous/etcd/leader_key.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool LeaderKey::has_fresh_lease(TimePoint now) const {
  return lease_.id != 0 && now - lease_.sent < kEtcdRenewal.of(heartbeat_timeout_);
}

void LeaderKey::taken() {
  is_held_ = true;
  must_be_seen_ = false;
  renewal_due_ = lease_.sent + kEtcdRenewal.of(heartbeat_timeout_);
}

void LeaderKey::lose() {
  lease_ = {};
  is_held_ = must_be_seen_ = false;
}

void LeaderKey::renewed(TimePoint sent) {
  must_be_seen_ = true;
  renewed_ = sent;
}

bool LeaderKey::seen() {
  is_held_ = true;
  if (!std::exchange(must_be_seen_, false)) return false;
  lease_.sent = renewed_;
  renewal_due_ = renewed_ + kEtcdRenewal.of(heartbeat_timeout_);
  return true;
}

void LeaderKey::missed() { is_held_ = must_be_seen_ = false; }

/// A process that knows this one to be dead may take the key. It waits for kEtcdDeathWait, so
/// nothing counts on the key for longer, even if etcd gives more.
TimePoint LeaderKey::alone_until() {
  const auto time = std::min(lease_.ttl, kEtcdDeathWait.of(heartbeat_timeout_));
  alone_until_ = std::max(alone_until_, lease_.used_until(time));
  return alone_until_;
}

}  // namespace ddprun
