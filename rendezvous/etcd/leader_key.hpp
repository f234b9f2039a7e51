// The leader's key in etcd and its lease, as the process sees them that has written the key.
// Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

/// A lease of etcd's, as this process knows it.
struct EtcdLease {
  std::int64_t id = 0;  // 0: there is none
  std::chrono::milliseconds ttl{};
  TimePoint sent;  // when the last request that has been answered asked for it or renewed it

  /// Until when its holder may count on it, and on no more than `time` of it.
  TimePoint used_until(std::chrono::milliseconds time) const {
    return sent + kEtcdLeaseUsed.of(time);
  }
};

/// etcd gives leases of whole seconds.
inline std::chrono::seconds whole_seconds(std::chrono::milliseconds time) {
  return std::max(std::chrono::ceil<std::chrono::seconds>(time), std::chrono::seconds{1});
}

/// LeaderKey: the key `coordinator` of a job, as the process sees it that has written it. It knows
/// under which lease the key lies, when that is to be renewed, and until when no other
/// process coordinates the job.
///
/// A lease alone tells little: somebody who knows this process to be dead may have the key. So
/// after each renewal the key has to be seen before anything counts on it.
class LeaderKey {
 public:
  explicit LeaderKey(std::chrono::milliseconds heartbeat_timeout)
      : heartbeat_timeout_{heartbeat_timeout} {}

  /// Takes a lease for the key that is to be written.
  void grant(EtcdLease lease) { lease_ = lease; }
  /// Whether there is a lease of which enough is left to write the key under it.
  bool has_fresh_lease(TimePoint now) const;
  /// Whether the key was written under the lease is not known, so another lease is needed.
  void drop_lease() { lease_ = {}; }
  std::int64_t lease() const { return lease_.id; }

  /// The key has been written under the lease.
  void taken();
  /// Another process has the key, or none.
  void lose();
  /// Whether the key is this process's, as far as that is known.
  bool is_held() const { return is_held_; }

  /// When the lease is to be renewed.
  TimePoint renewal_due() const { return renewal_due_; }
  /// etcd has renewed the lease, as it was asked at `sent`.
  void renewed(TimePoint sent);
  /// What is in etcd is not known any more.
  void look_again() { renewed(lease_.sent); }
  /// Whether the key is to be read before anything else is asked.
  bool must_be_seen() const { return must_be_seen_; }
  /// The key has been read, and is this process's. Returns whether it had to be seen.
  bool seen();
  /// The key has been read, and is not this process's. The lease may do for writing it again.
  void missed();

  /// Until when no other process coordinates the job.
  TimePoint alone_until();

 private:
  std::chrono::milliseconds heartbeat_timeout_;
  EtcdLease lease_;
  bool is_held_ = false;
  bool must_be_seen_ = false;
  TimePoint renewed_;  // when the renewal was sent after which the key is still to be seen
  TimePoint renewal_due_;
  TimePoint alone_until_;
};

}  // namespace ddprun
