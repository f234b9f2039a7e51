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
struct Forked { std::size_t start; std::size_t worker; pid_t pid; };  // waits at the gate
struct Delivered { std::size_t start; };  // all of its workers are this process's children now
using NurseryEvent = std::variant<LeftOut, NurseryRefuses, NurseryReady, Forked, Delivered>;
// clang-format on

/// Reads one packet of the nursery. Errors: kInvalid, with what is wrong in it.
Result<NurseryEvent> decode_nursery_event(std::string_view packet);

/// The command of this node's nursery: the interpreter of the workers with its options, and the
/// environment of the workers as far as it is the same for all of every round.
Command plan_nursery(const LaunchSpec& spec, const NodeFacts& node);

/// Which of the workers that are started together an order is about.
struct OrderPlace {
  std::size_t start = 0;   // a number of its own for each time that workers are started
  std::size_t worker = 0;  // from 0 on
  bool last = false;       // no other worker of this start follows
};

/// The packet that orders the nursery to fork one that is to become `worker`. `nursery` is the
/// command that plan_nursery() made: what its environment has already is left out.
std::string encode_order(const Command& worker, const OrderPlace& place, const Command& nursery);

}  // namespace ddprun
