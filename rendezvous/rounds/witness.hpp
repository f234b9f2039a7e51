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

#include "rendezvous/rounds/witness_machine.hpp"
#include "rendezvous/wire/channel.hpp"

namespace ddprun {

class Witness {
 public:
  /// It votes in at most `jobs_max` jobs.
  Witness(asio::any_io_executor executor, std::size_t jobs_max)
      : executor_{std::move(executor)}, jobs_max_{jobs_max} {}

  /// Votes over a connection that has begun with `invitation`, until it ends.
  asio::awaitable<void> serve(std::shared_ptr<Channel> channel, BeWitness invitation);

  /// Whose orders are obeyed in the job of that run id, as far as is known here.
  Leader leader_of(const std::string& run_id) const;

  /// Forgets the jobs of which nobody has been here for long.
  void sweep(TimePoint now);

  /// Closes all connections.
  void close();

 private:
  struct Vote {  // in one job
    WitnessMachine machine;
    asio::steady_timer tick;
    std::map<WitnessPeer, std::shared_ptr<Channel>> peers = {};  // that were not hung up on
  };
  std::shared_ptr<Vote> vote_in(const std::string& run_id);
  static asio::awaitable<void> hear(std::shared_ptr<Vote> vote, WitnessPeer peer);
  static asio::awaitable<void> tick_when_due(std::shared_ptr<Vote> vote);
  static void perform(Vote& vote, const std::vector<WitnessAction>& actions);
  static void drop(Vote& vote, WitnessPeer peer);

  asio::any_io_executor executor_;
  std::size_t jobs_max_;
  std::map<std::string, std::shared_ptr<Vote>> votes_;  // by run id
  WitnessPeer peers_ = 0;                               // that have come so far
};

}  // namespace ddprun
