// CoordinatorLink: the agent's connection to the coordinator. It connects, joins, sends and
// receives as AgentMachine wants it, and with --store local it lets the workers of this node reach
// the store through that connection.
//
// It decides nothing: the caller says when to connect, for how long to try and when to hang up. It
// reports what happens as AgentEvents.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "agent/decisions/agent_events.hpp"
#include "agent/local_coordinator.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/service/client.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/transport/connect_plan.hpp"
#include "rendezvous/tunnel/tunnel_entrance.hpp"

namespace ddprun {

class CoordinatorLink {
 public:
  using Listener = std::function<void(const AgentEvent&)>;

  /// `run` says where the job's coordinator is at first, and `spec` with what to join it. `own`
  /// says where it is later, if etcd chooses it, and stands by when it has been reached. All three
  /// must outlive the link. `tell` is called with Connected, CoordinatorUnreachable, Ordered and
  /// CoordinatorLost.
  CoordinatorLink(const asio::any_io_executor& executor, const LaunchSpec& spec,
                  const RunFacts& run, LocalCoordinator& own, Listener tell);
  CoordinatorLink(const CoordinatorLink&) = delete;

  /// Tries, after the wish's pause and for as long as its patience says, to connect and join with
  /// what it knows, under an id that stays the same, each attempt as a newer incarnation. Tells the
  /// user when it takes long. Reports Connected when the coordinator has answered, and
  /// CoordinatorUnreachable when none has; then every message is Ordered, also that answer, and the
  /// end is CoordinatorLost. Only when there is no connection, and none on its way.
  void connect(const ReachCoordinator& wish);

  /// At which port this process coordinates the job, or would; 0: at none, or none yet.
  std::uint16_t own_port() const { return own_port_; }

  /// Whether the coordinator that was joined last is in this process. It is not known of one that
  /// has no successors.
  bool colocated() const { return colocated_; }

  /// Without a connection it is dropped.
  void send(const AgentMessage& message);

  /// Closes the connection. Reports nothing more of it.
  void disconnect();

  /// Opens the way to the store for the workers of `round`, and returns the round with the address
  /// and port at which they find it. Errors: kUnavailable.
  Result<StartRound> open_store(StartRound round);

  /// The endpoint of another node, in which no host stands for where this node reaches the
  /// coordinator.
  std::string as_seen_here(const std::string& endpoint) const;

  /// No worker is let through to the store any more, until open_store() is called again.
  void close_store();

  /// Closes the connection once all that was said is sent, and gives up connecting.
  void end();

 private:
  asio::awaitable<void> serve(ReachCoordinator wish);
  asio::awaitable<Result<Reached>> reach_any(const ReachCoordinator& wish, const Hello& hello,
                                             const TellUser& tell_user);
  asio::awaitable<Result<Reached>> reach_by_etcd(const ReachCoordinator& wish, const Hello& hello);
  Result<void> take_secret();
  asio::awaitable<void> ended();
  void open_store_again(int round);
  Join join(const ReachCoordinator& wish, const Channel& channel);
  int place_number() const;
  asio::awaitable<void> receive();

  asio::any_io_executor executor_;
  const LaunchSpec& spec_;
  const RunFacts& run_;
  LocalCoordinator& own_;
  Listener tell_;
  const AskEtcd ask_etcd_;        // empty: there is none
  const NodeId id_;               // this agent, for its life
  std::int64_t incarnation_ = 0;  // joins that were said so far
  TimePoint asked_;               // when the last one was said
  std::uint16_t own_port_ = 0;
  Endpoint place_;                         // where the coordinator is, or is looked for
  bool colocated_ = false;                 // it is in this process
  std::shared_ptr<const TlsContext> tls_;  // null: there is no secret, or no connection yet
  std::shared_ptr<Channel> channel_;       // null: not connected
  std::shared_ptr<TunnelEntrance>
      tunnel_;              // null: workers go to the coordinator's store themselves
  int tunnel_port_ = 0;     // at which it was opened last
  asio::steady_timer end_;  // expires when end() is called
};

}  // namespace ddprun
