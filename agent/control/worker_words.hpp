// What an agent and those of its workers that can stay say to each other while members of the job
// change: lines of JSON, as worker_sdk/python/ddprun/_line.py has them. Pure.
//
//     worker: hello {local_rank, round, resize} · holding {round, step} · parked {round}
//             · stuck {round} · goodbye {}
//     agent:  welcome {patience_s} · hold {round} · leave_after {round, step} · leave {round}
//             · enter {round, environment}
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "agent/decisions/agent_events.hpp"
#include "base/result.hpp"

namespace ddprun {

/// What exceeds it is refused, and the worker's connection is closed.
inline constexpr std::size_t kWorkerLineBytesMax = 4 * 1024;

/// A worker's first line: which one it is, and that it can stay when members of that round change.
/// `resize`: also where they are more or fewer then.
struct WorkerHello {
  int local_rank = 0;
  int round = 0;
  bool resize = true;
  bool operator==(const WorkerHello&) const = default;
};

using WorkerLine = std::variant<WorkerHello, Holding, Parked, Stuck, CannotStay>;

/// Reads a line without its end. Errors: kInvalid, with a sentence.
Result<WorkerLine> parse_worker_line(std::string_view line);

/// The answer to hello: after the loss of a peer, an order may take this long.
std::string welcome_line(std::chrono::milliseconds patience);
/// What agent_events.hpp says of these actions.
std::string order_line(const AskToHold& order);
std::string order_line(const AskToLeaveAfter& order);
std::string order_line(const AskToLeave& order);
/// The worker takes part in that round, with these variables of its environment.
std::string enter_line(int round, const std::map<std::string, std::string>& environment);

}  // namespace ddprun
