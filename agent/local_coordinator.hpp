// LocalCoordinator: what may coordinate the job in the agent's own process, as the agent knows it.
// The agent says what it learns of the job's leader, and is never called back.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// Where etcd says that the coordinator is, and its epoch.
struct EtcdHead {
  Endpoint endpoint;
  std::int64_t epoch = 0;
};
/// Asks etcd where the coordinator is, and tells it what this node knows: `lost` is the epoch of
/// one that cannot be reached, 0 for none. Errors: kTimeout, when it does not say so before the
/// deadline, with the reason.
using AskEtcd = std::function<asio::awaitable<Result<EtcdHead>>(
    const VoterState& voter, std::int64_t lost, TimePoint deadline)>;

/// Functions are called in the agent's event loop. As they are here, nothing in this process ever
/// coordinates the job.
class LocalCoordinator {
 public:
  virtual ~LocalCoordinator() = default;

  /// Empty: etcd does not choose the coordinator.
  virtual AskEtcd ask_etcd() { return {}; }
  /// Opens what may follow the coordinator here, if it is not open yet. Is called whenever the
  /// coordinator has been reached, before it is joined. Returns the port at which this process
  /// coordinates the job, or would; 0: none.
  virtual std::uint16_t stand_by() { return 0; }
  /// The agent obeys this leader from now on.
  virtual void led_by(const Leader&) {}
  /// The job's coordinator is in this process from now on, or no longer.
  virtual void lead(bool /*leads*/) {}
};

}  // namespace ddprun
