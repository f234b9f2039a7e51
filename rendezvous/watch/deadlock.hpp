// What is wrong where all workers wait for each other: who waits for whom, or who has called
// something else than the others. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "rendezvous/watch/hang_watch.hpp"

namespace ddprun {

struct Deadlock {
  RankList odd;            // not where most of the others are; empty: none stands out
  std::string conclusion;  // a part of a sentence; "": there is none
};

/// Looks for it in what is known of a deadlock, and in what the workers are seen to do.
Deadlock explain_deadlock(const Suspicion& why, const std::vector<StackGroup>& answers);

/// "gloo:all_reduce, number 12 of group 0 (default_pg)", of a report or a group of workers.
std::string operation_text(const auto& of) {
  std::string text = of.operation;
  if (of.sequence > 0) text += ", number " + std::to_string(of.sequence);
  if (!of.group.empty()) text += (of.sequence > 0 ? " of group " : " in group ") + of.group;
  return text;
}

}  // namespace ddprun
