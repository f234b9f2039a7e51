// ControlServer answers the other programs of this user that ask about the job, or want it to stop:
// over HTTP, on the Unix socket of the job's folder.
//
//   GET /status.json           how the job is: a JobStatus
//   GET /log?rank=R&stream=S   the last lines of a worker of this node; S is "out" or "err"; with
//                              follow=1 what comes from now on, too; bytes=N: that many of them
//   POST /stop                 as Ctrl-C would
//   POST /dump                 what all workers do at this moment, as text, under the name of
//                              name=NAME if there is one; with json=1 as JSON
//   POST /debug?rank=R&socket=S   a debugger of a worker of this node, as long as the connection
//                              lasts. The worker connects to the Unix socket S; with port=P it lets
//                              an editor in there. The answer begins with a line of JSON: {pid,
//                              has_python}
//   POST /interrupt?rank=R     that worker, which runs on in its debugger, stops again
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "agent/agent.hpp"
#include "base/asio.hpp"
#include "live/http/http_server.hpp"
#include "live/jobs/job_folder.hpp"

namespace ddprun {

class ControlServer {
 public:
  /// Serves `acceptor`'s connections for `agent`, which must live longer.
  ControlServer(JobFolder::Acceptor acceptor, JobFacts facts, Agent& agent);
  ControlServer(const ControlServer&) = delete;
  ~ControlServer() { close(); }

  /// Closes the listener and all connections.
  void close();

 private:
  asio::awaitable<void> accept();
  asio::awaitable<HttpReply> answer(HttpRequest request);
  asio::awaitable<HttpReply> tell_status();
  asio::awaitable<HttpReply> dump(bool as_json, std::string name);
  HttpReply stop();
  HttpReply debug(const HttpRequest& request);
  HttpReply interrupt(const HttpRequest& request);

  JobFolder::Acceptor acceptor_;
  const JobFacts facts_;
  Agent& agent_;
  HttpServer server_;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
};

/// Answers /log for the workers of `agent`. It runs in the agent's event loop, and that goes on
/// where the folder of logs does not answer.
asio::awaitable<HttpReply> answer_log(Agent& agent, HttpRequest request);

}  // namespace ddprun
