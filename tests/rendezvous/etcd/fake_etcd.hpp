// An etcd for tests, on fake time: keys with revisions, leases that end, transactions.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/match.hpp"
#include "rendezvous/etcd/campaign.hpp"

namespace ddprun {

class FakeEtcd {
 public:
  /// It gives no shorter leases than that.
  explicit FakeEtcd(std::chrono::seconds lease_min = {}) : lease_min_{lease_min} {}

  EtcdAnswer answer(const EtcdRequest& request, const std::string& endpoint, TimePoint now) {
    remove_what_has_ended(now);
    return match(
        request,  //
        [&](const ReadKeys&) -> EtcdAnswer { return read(); },
        [&](const GrantLease& r) -> EtcdAnswer {
          const auto ttl = std::max(r.ttl, lease_min_);
          leases_[++last_lease_] = {ttl, now + ttl};
          return LeaseGranted{last_lease_, ttl};
        },
        [&](const KeepLease& r) -> EtcdAnswer {
          const auto lease = leases_.find(r.lease);
          if (lease == leases_.end()) return LeaseKept{std::chrono::seconds{0}};
          lease->second.ends = now + lease->second.ttl;
          return LeaseKept{lease->second.ttl};
        },
        [&](const TakeKey& r) -> EtcdAnswer {
          if (!leases_.contains(r.lease)) return NotAnswered{"requested lease not found"};
          if (holder_epoch() != r.from_epoch) return read();
          holder_ = KeyHolder{++revision_, endpoint};
          holder_lease_ = r.lease;
          return KeyTaken{revision_, members_};
        },
        [&](const PutMembers& r) -> EtcdAnswer {
          if (!leases_.contains(r.lease)) return NotAnswered{"requested lease not found"};
          if (holder_epoch() != r.epoch || members_.revision != r.members.revision) return read();
          members_ = r.members;
          members_.revision = ++revision_;
          members_lease_ = r.lease;
          return RecordPut{revision_};
        },
        [&](const PutVerdict& r) -> EtcdAnswer {
          if (!leases_.contains(r.lease)) return NotAnswered{"requested lease not found"};
          if (holder_epoch() != r.epoch) return read();
          members_ = {r.epoch, {}, r.verdict, ++revision_};
          members_lease_ = r.lease;
          holder_.reset();
          return RecordPut{revision_};
        });
  }
  KeysRead read() const { return {holder_, members_}; }
  bool has_lease(std::int64_t lease) const { return leases_.contains(lease); }

  /// As when another member of etcd's has become its leader.
  void begin_leases_anew(TimePoint now) {
    for (auto& [id, lease] : leases_) lease.ends = now + lease.ttl;
  }
  void remove_what_has_ended(TimePoint now) {
    std::erase_if(leases_, [&](const auto& lease) { return now >= lease.second.ends; });
    if (holder_ && !leases_.contains(holder_lease_)) holder_.reset();
    if (members_.revision > 0 && !leases_.contains(members_lease_)) members_ = {};
  }

 private:
  struct Lease {
    std::chrono::seconds ttl;
    TimePoint ends;
  };
  std::int64_t holder_epoch() const { return holder_ ? holder_->epoch : 0; }

  std::chrono::seconds lease_min_;
  std::int64_t revision_ = 1;
  std::int64_t last_lease_ = 0;
  std::map<std::int64_t, Lease> leases_;
  std::optional<KeyHolder> holder_;
  std::int64_t holder_lease_ = 0;
  MembersRecord members_;
  std::int64_t members_lease_ = 0;
};

}  // namespace ddprun
