// What the agent and the fork server (fork_server.py) tell each other, and which of several starts
// has the fork server for itself. Pure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/result.hpp"

namespace ddprun {

// What the agent and the fork server (fork_server.py) tell each other: one JSON object a packet.
//
// JSON is Unicode, and file names are bytes: a byte is written as the character of that number.

// clang-format off
struct LeftOut { std::string module; std::string why; };  // to be imported by every worker
struct ForkServerRefuses { std::string why; };            // and ends
struct ForkServerReady { std::vector<std::string> modules; double seconds; };
struct Forked { std::size_t start; std::size_t worker; pid_t pid; };  // waits at the gate
struct Delivered { std::size_t start; };  // all of its workers are this process's children now
using ForkServerEvent = std::variant<LeftOut, ForkServerRefuses, ForkServerReady, Forked, Delivered>;
// clang-format on

/// Reads one packet of the fork server. Errors: kInvalid, with what is wrong in it.
Result<ForkServerEvent> decode_fork_server_event(std::string_view packet);

/// The command of this node's fork server: the interpreter of the workers with its options, and the
/// environment of the workers as far as it is the same for all of every round.
Command plan_fork_server(const LaunchSpec& spec, const NodeFacts& node);

/// Which of the workers that are started together an order is about.
struct OrderPlace {
  std::size_t start = 0;   // a number of its own for each time that workers are started
  std::size_t worker = 0;  // from 0 on
  bool last = false;       // no other worker of this start follows
};

/// The packet that orders the fork server to fork one that is to become `worker`. `fork_server` is
/// the command that plan_fork_server() made: what its environment has already is left out.
std::string encode_order(const Command& worker, const OrderPlace& place,
                         const Command& fork_server);

// ForkServerTurns: which of several starts of workers has the fork server for itself, which of the
// server's answers are for that start, and what becomes of the processes that it has forked.
//
// An answer may come late, twice, or when the start was given up. Nothing of one start is
// ever taken for another's, or two rounds would train at once.

/// What becomes of what the fork server has forked for a start.
enum class ForkedFate {
  kTaken,        // they are the workers
  kKilled,       // the start was given up
  kStartedAnew,  // killed, too: some were not delivered, so all start the ordinary way
};

class ForkServerTurns {
 public:
  /// Gives a start the turn. False: another one has it until it gives it back.
  bool take();
  void give_back() { taken_ = false; }

  /// Begins to fork that many workers for the start that has the turn. Returns its number.
  std::size_t begin(std::size_t workers);

  void hear(const Forked& answer);
  void hear(const Delivered& answer);

  /// Whether all of its workers are there.
  bool is_delivered() const { return delivered_; }
  /// Its workers by number; -1: not yet.
  const std::vector<pid_t>& forked() const { return forked_; }
  ForkedFate fate(bool unwanted) const;

 private:
  bool taken_ = false;
  std::size_t start_ = 0;  // the number of the last start
  std::vector<pid_t> forked_;
  bool delivered_ = false;
};

}  // namespace ddprun
