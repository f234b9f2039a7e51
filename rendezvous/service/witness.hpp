// Witness: the vote of a `ddprun server` in jobs that it does not host. It is the shell of a
// WitnessMachine for each of them: it owns the connections and reads the clock.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rendezvous/service/server_limits.hpp"
#include "rendezvous/service/witness_machine.hpp"
#include "rendezvous/transport/channel.hpp"

namespace ddprun {

class Witness {
 public:
  /// It votes in at most `limits.jobs_max` jobs, and in `limits.jobs_per_address_max` for whom one
  /// address has asked first.
  Witness(asio::any_io_executor executor, const ServerLimits& limits)
      : executor_{std::move(executor)}, limits_{limits} {}

  /// Votes over a connection that has begun with `invitation`, until it ends.
  asio::awaitable<void> serve(std::shared_ptr<Channel> channel, InviteWitness invitation);

  /// Whose orders are obeyed in the job of that run id, as far as is known here.
  Leader leader_of(const std::string& run_id) const;

  /// Forgets the jobs of which no node has been here for long.
  void sweep(TimePoint now);

  /// Closes all connections.
  void close();

 private:
  struct Vote {  // in one job
    WitnessMachine machine;
    std::string asked_from;  // the address of the first candidate
    asio::steady_timer tick;
    std::map<WitnessPeer, std::shared_ptr<Channel>> peers = {};  // that were not hung up on
  };
  std::shared_ptr<Vote> vote_in(const std::string& run_id, const std::string& from);
  static asio::awaitable<void> hear(std::shared_ptr<Vote> vote, WitnessPeer peer);
  static asio::awaitable<void> tick_when_due(std::shared_ptr<Vote> vote);
  static void perform(Vote& vote, const std::vector<WitnessAction>& actions);
  static void drop(Vote& vote, WitnessPeer peer);

  asio::any_io_executor executor_;
  ServerLimits limits_;
  std::map<std::string, std::shared_ptr<Vote>> votes_;  // by run id
  std::map<std::string, std::size_t> asked_from_;       // how many of them, by address
  WitnessPeer peers_ = 0;                               // that have come so far
};

}  // namespace ddprun
