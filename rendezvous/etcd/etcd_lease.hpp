// A lease of etcd's, as this process knows it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "rendezvous/leadership/lease_times.hpp"

namespace ddprun {

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

}  // namespace ddprun
