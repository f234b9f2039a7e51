// ForkServerShell: what ForkServer does around ForkServerTurns, with a fork server on fake time.
// Like it, it decides nothing.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/workers/fork_server_protocol.hpp"
#include "tests/simulation/fake_fork_server.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class ForkServerShell {
 public:
  struct Child {
    int round;
    int local_rank;
  };
  /// Gets the processes in the order of the children; -1: it could not be started.
  using Started = std::function<void(const std::vector<pid_t>& pids)>;

  ForkServerShell(World& world, Births& births) : world_{world}, births_{births} {}
  ForkServerShell(const ForkServerShell&) = delete;

  /// Starts the fork server, unless it is there or has been given up.
  void begin();
  void spawn(std::vector<Child> children, std::function<bool()> unwanted, Started started);
  void look_again();
  /// Kills the fork server, and what it has not delivered.
  void end();

 private:
  struct Start {
    std::vector<Child> children;
    std::function<bool()> unwanted;
    Started started;
  };
  enum class Stage { kNone, kLoading, kForking };

  bool is_there(int server) const { return server_ && server == servers_; }
  void hear(const std::string& packet);
  void server_died();
  void go_on();
  void go_on_later();
  void leave_queue();
  void next_turn();
  void load();
  void fork_all();
  void finish();
  void finish_with(const std::vector<pid_t>& pids);
  void give_up();

  World& world_;
  Births& births_;
  ForkServerTurns turns_;
  std::shared_ptr<FakeForkServer> server_;  // null: there is none
  int servers_ = 0;                         // those that there were
  bool ready_ = false;
  bool given_up_ = false;
  Stage stage_ = Stage::kNone;
  std::optional<Start> current_;  // has the turn
  std::deque<Start> waiting_;
  std::shared_ptr<FakeForkServer> forks_;  // the one that the current start has begun with
  int forkings_ = 0;                       // times that one was to fork
};

}  // namespace ddprun::simulation
