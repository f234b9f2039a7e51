// What the agent and the nursery (nursery.py) tell each other: one JSON object a packet. Pure.
//
// JSON is Unicode, and file names are bytes: a byte is written as the character of that number.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/result.hpp"

namespace ddprun {

// clang-format off
struct LeftOut { std::string module; std::string why; };  // to be imported by every worker
struct NurseryRefuses { std::string why; };               // and ends
struct NurseryReady { std::vector<std::string> modules; double seconds; };
struct Forked { std::size_t worker; pid_t pid; };  // waits to be let go
struct LetGo {};  // all workers of the round have been: they are this process's children
using NurseryEvent = std::variant<LeftOut, NurseryRefuses, NurseryReady, Forked, LetGo>;
// clang-format on

/// Reads one packet of the nursery. Errors: kInvalid, with what is wrong in it.
Result<NurseryEvent> decode_nursery_event(std::string_view packet);

/// The command of this node's nursery: the interpreter of the workers with its options, and the
/// environment of the workers as far as it is the same for all of every round.
Command plan_nursery(const LaunchSpec& spec, const NodeFacts& node);

/// The packet that orders the nursery to fork worker number `index` of a round, which is to become
/// `worker`; `last` when no other worker of the round follows. `nursery` is the command that
/// plan_nursery() made: what its environment has already is left out.
std::string encode_order(const Command& worker, std::size_t index, bool last,
                         const Command& nursery);

}  // namespace ddprun
