// StatusServer shows jobs in a browser and to collectors of numbers, for --status-addr:
//
//   GET /             the page
//   GET /status.json  a JobStatus; where there may be several jobs, {"jobs": [...]}, or with
//                     ?job=RUN_ID one of them
//   GET /events       the same as server-sent events
//                     (https://html.spec.whatwg.org/multipage/server-sent-events.html)
//   GET /metrics      OpenMetrics
//   GET /log          the end of a worker's log: ?rank=R&stream=out or err
//   GET /healthz      "ok"
//
// Nothing can be changed by it. With a token, all but /healthz want it: as ?token=T, or as
// "Authorization: Bearer T". docs/live.md tells users, docs/security.md what protects it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "live/http/http_server.hpp"
#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

/// What the page shows, and who may see it.
struct StatusPage {
  /// Tells how the jobs are now. It is called in the page's event loop.
  std::function<std::vector<JobStatus>()> jobs;
  /// Answers /log. null: there are no logs here.
  std::function<asio::awaitable<HttpReply>(HttpRequest)> log;
  bool one_job = true;             // there is exactly one job
  std::string command;             // its command line, without secrets; "": nobody knows it
  std::string token;               // "": everybody may see it who may connect
  std::vector<std::string> names;  // this machine's, beside its addresses
};

class StatusServer {
 public:
  /// Listens on `endpoint`, whose port may be 0 for any free one, and serves until close(). On
  /// loopback only processes of this user and of root may connect. Errors: kUnavailable, which
  /// names the address.
  static Result<std::unique_ptr<StatusServer>> listen(const asio::any_io_executor& executor,
                                                      const asio::ip::tcp::endpoint& endpoint,
                                                      StatusPage page);
  ~StatusServer() { close(); }

  std::uint16_t port() const { return port_; }

  /// Sends viewers how the job has ended, and closes.
  void close();

 private:
  StatusServer(asio::ip::tcp::acceptor acceptor, StatusPage page);
  asio::awaitable<void> accept();
  asio::awaitable<HttpReply> answer(HttpRequest request);
  bool may_see(const HttpRequest& request) const;
  HttpReply tell_status(const HttpRequest& request);
  asio::awaitable<void> send_events(std::string job, HttpStream& stream);
  asio::awaitable<HttpReply> tell_log(HttpRequest request);
  std::string where_to_read(const HttpRequest& request);
  const std::string& json_of(const std::string& job);
  std::string make_json(const std::string& job);
  const std::vector<JobStatus>& jobs();

  const StatusPage page_;
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  HttpServer server_;
  std::vector<JobStatus> looked_;             // the jobs as they were
  TimePoint looked_at_{};                     // at this time
  std::map<std::string, std::string> texts_;  // json_of() has made them of these
};

}  // namespace ddprun
