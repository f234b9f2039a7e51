// AgentLine: the line between a worker and the agent of its node. A worker with an elastic loop
// says hello. Then it is asked to leave its world and to enter the next one, instead of being
// restarted. If no worker is lost, it is asked first how far it has come, and then to leave behind
// a step that all can count. The module for Python has the same
// (worker_sdk/python/ddprun/_line.py).
//
// The agent listens at a Unix socket that DDPRUN_CONTROL names as PATH:LOCAL_RANK. Both sides send
// lines of JSON:
//
//     worker: hello {local_rank, round, resize} · holding {round, step} · parked {round} ·
//             stuck {round} · goodbye {}
//     agent:  welcome {patience_s} · hold {round} · leave_after {round, step} · leave {round} ·
//             enter {round, environment}
//
// resize: false if the program needs its number of workers, so that it must not go on with another
// one. holding is the answer to hold. It comes at once, with the step -1 if the worker does not
// train in that round any more; a worker that is still about to enter that round, or enters it,
// answers when it begins to train there, or not at all if it is ordered to leave before.
//
// Without an agent that listens there is no line, and workers are stopped and started as ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>

namespace ddprun::sdk {

/// A worker is to take part in another round: the variables of its environment that differ from
/// before.
struct Entrance {
  std::map<std::string, std::string> environment;
};

/// A worker that waits for its first round is of this one.
inline constexpr std::int64_t kNoRound = 0;

class AgentLine {
 public:
  /// What is done when the agent has said something. All are called in a thread of the line's.
  struct Orders {
    /// Returns the step to answer for that round; nullopt: say_holding() is called later.
    std::function<std::optional<std::int64_t>(std::int64_t round)> hold;
    std::function<void(std::int64_t round, std::int64_t step)> leave_after;
    /// This worker leaves that round at once.
    std::function<void(const AgentLine& line, std::int64_t round)> leave;
    std::function<void()> agent_has_gone;
  };

  /// Tells the agent that this worker can stay when members of `round` change, and whether it can
  /// do so when their number does. nullptr where no agent listens, or it does not answer.
  static std::unique_ptr<AgentLine> connect(std::int64_t round, bool resize, Orders orders);

  /// For a worker that was started beside a round, without a place in one: waits until it gets one.
  /// Errors: std::runtime_error where the agent has gone.
  Entrance first_entrance();

  /// Says that this worker does not stay any more when members change.
  ~AgentLine();
  AgentLine(const AgentLine&) = delete;
  AgentLine& operator=(const AgentLine&) = delete;

  /// The answer for that round.
  void say_holding(std::int64_t round, std::int64_t step) const;
  /// This worker has left that round, and does nothing until it is ordered to enter another one.
  void say_parked(std::int64_t round) const;
  /// This worker is to leave that round, and waits for members of it without an end.
  void say_stuck(std::int64_t round) const;

  /// Waits until the agent says where to go on: for the time that an order may take to come behind
  /// the loss that it follows from, or without an end where `is_ordered` says that the agent has
  /// asked this worker to leave. nullopt: no order has come.
  std::optional<Entrance> await_entrance(const std::function<bool()>& is_ordered);

 private:
  AgentLine(int connection, Orders orders);
  bool await_welcome();
  void say(const nlohmann::json& message) const;
  void read();
  bool hear(const std::string& line);
  void follow(const std::string& type, const nlohmann::json& message);

  int connection_;
  Orders orders_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::optional<std::chrono::duration<double>> patience_;  // the agent has welcomed this worker
  std::optional<Entrance> entrance_;
  bool is_open_ = true;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace ddprun::sdk
