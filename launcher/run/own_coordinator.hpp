// OwnCoordinator: the coordinator of a run as far as it is in this process, or may come here. It
// holds the server, the event loop that serves it, and the status page that goes with the leader.
//
// The coordinator of several nodes has a thread of its own, because it must never wait for what
// this node waits for. Functions are called in the agent's event loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/coordinator_link.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/result.hpp"
#include "launcher/nodes/folder_memory.hpp"
#include "launcher/run/loop_thread.hpp"
#include "launcher/run/open_coordinator.hpp"
#include "live/page/status_server.hpp"

namespace ddprun {

class OwnCoordinator {
 public:
  using ReadLog = std::function<asio::awaitable<HttpReply>(HttpRequest)>;

  /// `home` is the agent's event loop. `log` answers the status page, which asks for a worker's log
  /// in another thread. `home` and `spec` must live longer.
  OwnCoordinator(asio::io_context& home, const LaunchSpec& spec, ReadLog log);
  ~OwnCoordinator();
  OwnCoordinator(const OwnCoordinator&) = delete;
  OwnCoordinator& operator=(const OwnCoordinator&) = delete;

  /// Serves the coordinator, or finds that it is elsewhere. Adds to `run` where it is. Runs the
  /// agent's event loop meanwhile. Errors: as those of open_coordinator() and open_status_page().
  Result<void> open(RunFacts& run);

  /// Whether something here may follow the coordinator when this node has reached it.
  bool may_stand_by() const { return static_cast<bool>(open_standby_); }
  /// Opens that, and returns the port at which this node may follow the coordinator; 0: it cannot.
  std::uint16_t stand_by();

  /// Lets the agent ask etcd where the coordinator is; empty: etcd does not choose it.
  CoordinatorLink::AskEtcd ask_etcd();

  /// Sends others to whose orders the agent here obeys.
  void led_by(const Leader& leader);

  /// This node's coordinator follows one that was lost, or has itself been followed. The status
  /// page moves with it.
  void lead(bool leads);

  /// `tell` is called in the agent's event loop with where the status page is from now on; "": not
  /// here any more.
  void when_page_moves(std::function<void(const std::string& url)> tell) {
    page_moved_ = std::move(tell);
  }

  /// The agent has ended, and nobody has to be served any more.
  void close();
  /// Runs the event loops until open connections have had time for their last words.
  void say_goodbye();

  /// The server's; there must be one.
  std::uint16_t port() const { return server_->port(); }
  /// Where the status page is when the run begins; "": not here.
  const std::string& status_url() const { return status_url_; }

 private:
  asio::io_context& serving() { return loop_ ? *loop_ : home_; }
  void serve();
  Result<std::string> open_page();
  void close_pages();

  asio::io_context& home_;
  const LaunchSpec& spec_;
  ReadLog log_;
  std::optional<asio::io_context> loop_;  // nullopt: the agent's loop serves
  std::shared_ptr<FolderMemory> memory_;  // nullptr: --node-history is not given
  std::unique_ptr<Server> server_;
  std::function<std::unique_ptr<Server>()> open_standby_;
  std::shared_ptr<EtcdElection> election_;  // tells server_ who coordinates; null: there is none
  std::vector<std::unique_ptr<StatusServer>> pages_;  // for --status-addr; the last one may be open
  std::string status_url_;
  std::function<void(const std::string&)> page_moved_ = [](const std::string&) {};
  std::optional<LoopThread> thread_;  // runs loop_; it ends before all that it works with
};

}  // namespace ddprun
