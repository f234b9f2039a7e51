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

#include "agent/local_coordinator.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/result.hpp"
#include "base/system/loop_thread.hpp"
#include "launcher/nodes/folder_memory.hpp"
#include "launcher/run/open_coordinator.hpp"
#include "launcher/run/run.hpp"
#include "launcher/run/service.hpp"
#include "live/page/status_server.hpp"

namespace ddprun {

/// Where the job's coordinator is, as far as it is known here.
struct CoordinatorPlace {
  std::string coordinator;  // HOST:PORT
  bool is_here = false;
  std::string status_url = {};  // where this process serves the status page; "": nowhere
};

class OwnCoordinator : public LocalCoordinator, public Service {
 public:
  using ReadLog = std::function<asio::awaitable<HttpReply>(HttpRequest)>;

  /// `home` is the agent's event loop. `log` answers the status page, which asks for a worker's log
  /// in another thread. `home`, `spec` and `events` must live longer.
  OwnCoordinator(asio::io_context& home, const LaunchSpec& spec, const RunEvents& events,
                 ReadLog log);
  ~OwnCoordinator() override;
  OwnCoordinator(const OwnCoordinator&) = delete;
  OwnCoordinator& operator=(const OwnCoordinator&) = delete;

  /// Serves the coordinator, or finds that it is elsewhere. Adds to `node` where it is, and tells
  /// the user. Runs the agent's event loop meanwhile. Errors: as those of open_coordinator() and
  /// open_status_page().
  Result<void> prepare(NodeFacts& node) override;

  AskEtcd ask_etcd() override;
  std::uint16_t stand_by() override;
  /// Sends others to that leader.
  void led_by(const Leader& leader) override;
  /// The status page moves with the leader.
  void lead(bool leads) override;

  /// `tell` is called in the agent's event loop when place() has changed.
  void when_moved(std::function<void()> tell) { moved_ = std::move(tell); }
  const CoordinatorPlace& place() const { return place_; }

  /// The agent has ended, and no peer has to be served any more.
  void close();
  /// Runs the event loops until open connections have had time for their last words.
  void stop() override;

 private:
  asio::io_context& serving() { return loop_ ? *loop_ : home_; }
  void serve();
  Result<std::string> open_page();
  void move_page(bool leads);
  void close_pages();

  asio::io_context& home_;
  const LaunchSpec& spec_;
  const RunEvents& events_;
  ReadLog log_;
  std::optional<asio::io_context> loop_;  // nullopt: the agent's loop serves
  std::shared_ptr<FolderMemory> memory_;  // nullptr: --node-history is not given
  std::unique_ptr<Server> server_;
  std::function<std::unique_ptr<Server>()> open_standby_;  // empty: it is open, or nothing is
  std::uint16_t own_port_ = 0;                             // as stand_by() returns it
  std::shared_ptr<EtcdElection> election_;  // tells server_ who coordinates; null: there is none
  std::vector<std::unique_ptr<StatusServer>> pages_;  // for --status-addr; the last one may be open
  CoordinatorPlace place_;
  std::function<void()> moved_ = [] {};
  std::optional<LoopThread> thread_;  // runs loop_; it ends before all that it works with
};

}  // namespace ddprun
