// NodeFitness: what `ddprun doctor --fitness` tells the agent that has asked. Pure.
#pragma once

#include <string>

#include "base/result.hpp"

namespace ddprun {

struct NodeFitness {
  /// kBusy: something is in use that a process which is about to end may free. kUnknown: what was
  /// asked has not answered.
  enum class State { kFit, kBusy, kUnfit, kUnknown };
  State state = State::kFit;
  std::string seen;    // the first thing that is wrong, in words; "": nothing is
  std::string advice;  // a way to mend it
  bool operator==(const NodeFitness&) const = default;
};

/// The first word of `ddprun doctor` when an agent asks.
inline constexpr char kFitnessWord[] = "--fitness";

inline constexpr int kFitnessLines = 3;

/// Returns kFitnessLines lines: the state, what was seen, and the advice.
std::string to_lines(const NodeFitness& fitness);

/// Reads what to_lines() has written. Errors: kInvalid; kUnavailable for one that is not known.
Result<NodeFitness> parse_fitness(const std::string& lines);

}  // namespace ddprun
