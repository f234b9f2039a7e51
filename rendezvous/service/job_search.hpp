// JobSearch speaks to processes that have not joined a job: other places of it, a witness, and
// agents whose connections have ended. When and where to is CoordinatorMachine's to say; see Job.
//
// Its Job shares it with the coroutines that speak.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/asio.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/transport/channel.hpp"

namespace ddprun {

class JobSearch : public std::enable_shared_from_this<JobSearch> {
 public:
  struct Listener {
    /// Gets Probed, LeadersFound, and HigherEpoch when a witness votes for somebody else.
    std::function<void(const CoordinatorEvent&)> tell = [](const CoordinatorEvent&) {};
    /// A witness that was invited has answered with that.
    std::function<void(std::shared_ptr<Channel>, Join)> join;
  };

  JobSearch(const asio::any_io_executor& executor, std::string run_id)
      : executor_{executor}, run_id_{std::move(run_id)} {}

  /// Tells `listener` from now on. To be called before all else.
  void begin(Listener listener) { listener_ = std::move(listener); }
  /// Reaches other agents of the job with that from now on.
  void reach_with(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }

  /// Asks the system of an agent's host whether a process listens there still: when none does, the
  /// agent's process is gone. Then Probed.
  void probe(const Probe& order);
  /// Asks other places of the job who leads. Then LeadersFound.
  void ask(const AskLeaders& order);
  /// Announces where the coordinator is, to all nodes that may believe to be it. An announcement
  /// that takes longer than the pause before the next one goes on in its place.
  void announce(const AnnounceLeader& order);
  /// Looks for a witness. A place that has not answered the last invitation yet is passed over.
  void invite(const InviteWitnesses& order);

  /// Nothing is announced any more.
  void close() { closed_ = true; }

 private:
  struct Question;
  asio::awaitable<void> probe_agent(Probe order);
  asio::awaitable<void> announce_to(AnnounceLeader order);
  asio::awaitable<void> ask_all(AskLeaders order);
  asio::awaitable<void> ask_one(std::string endpoint, std::shared_ptr<Question> question);
  asio::awaitable<void> invite_one(std::string endpoint, InviteWitness invitation);
  asio::awaitable<std::optional<Join>> request_join(std::string endpoint, InviteWitness invitation,
                                                    std::shared_ptr<Channel> channel);
  void tell(const CoordinatorEvent& event);

  asio::any_io_executor executor_;
  const std::string run_id_;
  Listener listener_;
  std::shared_ptr<const TlsContext> tls_;    // null: there is no secret
  std::set<std::string> inviting_;           // endpoints at which a witness is being invited
  std::set<std::string> witness_endpoints_;  // endpoints at which one has answered
  bool announcing_ = false;
  bool closed_ = false;
};

}  // namespace ddprun
