// MembersWriter: the key `members` of a job, as its coordinator writes it: which nodes may have
// workers, under which lease that lies, and until when no other process takes these nodes for dead.
// Pure. Which node coordinates the job is LeaderKey's concern.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/etcd/etcd_requests.hpp"
#include "rendezvous/etcd/leader_key.hpp"

namespace ddprun {

/// A coordinator that does not reach etcd may go on for this many heartbeat timeouts, a reserve
/// less: others take its nodes for dead then.
inline constexpr int kMembersTimeouts = 24;

class MembersWriter {
 public:
  explicit MembersWriter(std::chrono::milliseconds heartbeat_timeout)
      : heartbeat_timeout_{heartbeat_timeout} {}

  /// This process coordinates the job from now on, and has found `record`.
  void begin_term(const MembersRecord& record, TimePoint now);

  /// These nodes are to be written down, for a round of that attempt.
  void want(std::vector<std::string> nodes, int attempt);
  /// Whether nodes are to be written down that are not.
  bool is_wanted() const { return is_wanted_; }
  /// The nodes that are written down, or are to be.
  const std::vector<std::string>& nodes() const { return nodes_; }

  /// What writes them down, in the term of that epoch: first a lease is needed.
  EtcdRequest next_request(std::int64_t epoch) const;
  void grant(EtcdLease lease) { lease_ = lease; }
  /// They may have been written down or not. What is there has to be read before the next request.
  void drop_lease() { lease_ = {}; }
  /// `nodes` are written down since that revision. Returns whether these are still what is wanted.
  bool written(std::int64_t revision, const std::vector<std::string>& nodes);

  /// The record has been read, and was written at that revision, or is not there (0). Returns
  /// whether it is gone that this coordinator found, and has not replaced.
  bool has_expired(std::int64_t revision);

  /// When the lease is to be renewed; TimePoint::max(): nothing lies under it.
  TimePoint renewal_due() const { return is_written_ ? due_ : TimePoint::max(); }
  std::int64_t lease() const { return lease_.id; }
  /// etcd has renewed the lease, as it was asked at `sent`.
  void renewed(TimePoint sent);
  /// etcd has no such lease any more, so everything has to be written again.
  void lose_lease();

  /// Until when no other process takes the nodes for dead; TimePoint{}: it is not known.
  TimePoint held_until() const;

 private:
  std::chrono::milliseconds heartbeat_timeout_;
  std::vector<std::string> nodes_;
  int attempt_ = 0;
  bool is_wanted_ = false;
  bool is_written_ = false;
  bool has_found_ = false;  // a record of somebody else, or of before, is there
  std::int64_t revision_ = 0;
  EtcdLease lease_;
  TimePoint due_;
};

}  // namespace ddprun
