// LeaderKey: the key `coordinator` of a job, as the process sees it that has written it. It knows
// under which lease the key lies, when that is to be renewed, and until when nobody else
// coordinates the job. Pure.
//
// A lease alone tells little: somebody who knows this process to be dead may have the key. So after
// each renewal the key has to be seen before anything counts on it.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "rendezvous/etcd/etcd_lease.hpp"

namespace ddprun {

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
  /// Somebody else has the key, or nobody.
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

  /// Until when nobody else coordinates the job.
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
