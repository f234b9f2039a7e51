// FakeForkServer: the process of fork_server.py on fake time, as bad as it may be. It takes long,
// dies at any point, says things twice, and lets go what nobody wants any more.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

/// Where processes of workers begin and end.
class Births {
 public:
  virtual ~Births() = default;

  /// A process that is to become this worker of this round, and waits until it is let go.
  virtual pid_t fork(int round, int local_rank) = 0;
  /// From now on it runs its program.
  virtual void let_go(pid_t pid) = 0;
  /// What has not been let go ends.
  virtual void close_gate(const std::vector<pid_t>& pids) = 0;
  virtual void kill(pid_t pid) = 0;
  /// At once, or when the host is no longer frozen.
  virtual void when_awake(Timeline::Task task) = 0;
};

class FakeForkServer : public std::enable_shared_from_this<FakeForkServer> {
 public:
  using Hears = std::function<void(const std::string& packet)>;

  FakeForkServer(World& world, Births& births, Hears hears, std::function<void()> died)
      : world_{world}, births_{births}, hears_{std::move(hears)}, died_{std::move(died)} {}

  /// Begins to import.
  void begin();
  /// Takes a packet that encode_order() has made.
  void order(const std::string& packet);
  /// Returns what it has forked since the last time.
  std::vector<pid_t> take_forked() { return std::exchange(forked_, {}); }
  /// Kills it, and what it has not delivered. Nobody hears of it.
  void kill();

 private:
  struct Forking {
    std::size_t start;
    std::size_t worker;
    bool last;
    int round;
    int local_rank;
  };

  void soon(Timeline::Task task);
  void fork_next();
  void deliver(std::size_t start);
  bool dies_now();
  void say(std::string packet);

  World& world_;
  Births& births_;
  Hears hears_;
  std::function<void()> died_;
  bool alive_ = true;
  bool busy_ = false;
  std::deque<Forking> orders_;
  std::vector<pid_t> waiting_;  // forked, and not delivered yet
  std::vector<pid_t> forked_;
};

}  // namespace ddprun::simulation
