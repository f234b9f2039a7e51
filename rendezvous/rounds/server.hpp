// The coordinator's shell: accepts peers on one port, tells agents from store clients, and hands
// each to its job.
//
// An agent's coordinator hosts that agent's job; `ddprun server` hosts any number, by run id, each
// with a port of its own for its store, and forgets a job when it has ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rendezvous/rounds/job.hpp"

namespace ddprun {

/// Beyond these `ddprun server` refuses new jobs.
inline constexpr std::size_t kJobsMax = 10'000;

class Server {
 public:
  /// Listens on `address`:`port` (0: any free one, see port()) for the agents of one job, and
  /// serves its store there. `rules.master_port` 0 becomes the port that was bound. Errors:
  /// kUnavailable, naming the address.
  static Result<std::unique_ptr<Server>> listen(const asio::any_io_executor& executor,
                                                RoundRules rules, const asio::ip::address& address,
                                                std::uint16_t port);
  /// The same for any job that comes.
  static Result<std::unique_ptr<Server>> listen(const asio::any_io_executor& executor,
                                                const asio::ip::address& address,
                                                std::uint16_t port);
  /// Starts to accept; runs until close().
  void start();
  void close();

  bool closed() const { return !acceptor_.is_open(); }
  std::uint16_t port() const { return port_; }

 private:
  explicit Server(asio::ip::tcp::acceptor acceptor);

  asio::awaitable<void> accept_peers();
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  asio::awaitable<void> serve_agent(std::shared_ptr<Channel> channel);
  Result<std::shared_ptr<Job>> job_of(const Join& join);
  Result<std::shared_ptr<Job>> new_job(const Join& join);
  Introduction introduction() const;

  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::shared_ptr<Job> only_;                         // an agent's; nullptr: many
  std::map<std::string, std::shared_ptr<Job>> jobs_;  // by run id, those that have not ended
};

}  // namespace ddprun
