// TrainerEndpoint takes what trainings on this node report in the way of the Kubeflow Trainer (see
// trainer_status.hpp): on loopback, from processes with the token that is in a file of the job's
// folder.
//
// It takes a port from the beginning, because a worker's environment has the address before it
// runs.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <string>

#include "agent/control/trainer_status.hpp"
#include "agent/introspection/worker_watch.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "live/http/http_server.hpp"

namespace ddprun {

class TrainerEndpoint {
 public:
  /// For the trainings of `workers` workers. Until open() they report nothing.
  TrainerEndpoint(const asio::any_io_executor& executor, int workers);
  ~TrainerEndpoint() { close(); }
  TrainerEndpoint(const TrainerEndpoint&) = delete;

  /// Listens on loopback for those that know `token`. Errors: kUnavailable.
  Result<void> open(std::string token);

  /// Where a worker posts: this and "/" and its local rank. Only when it is open.
  std::string url() const;

  /// What the worker has reported in this round; nullptr: nothing.
  const TrainerStatus* told(int local_rank) const;
  /// Adds that to a look at the worker.
  void add_reported(int local_rank, WorkerLook& look) const;
  /// Another round begins, whose workers have reported nothing.
  void forget() { told_.clear(); }

  void close();

 private:
  asio::awaitable<void> accept();
  HttpReply take(const HttpRequest& request);

  asio::ip::tcp::acceptor acceptor_;
  std::string token_;
  const int workers_;
  HttpServer server_;
  std::map<int, TrainerStatus> told_;  // by local rank
};

}  // namespace ddprun
