#include "rendezvous/verdict/fold_ends.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/verdict/causes.hpp"

namespace ddprun {

bool are_alike(const WorkerEnd& some, const WorkerEnd& other) {
  if (other.blame != some.blame || other.kind != some.kind) return false;
  if (some.blame == Blame::kStopped) return true;
  if (some.blame == Blame::kDone && some.kind != FailureKind::kException) return true;
  if (some.blame == Blame::kFollows && some.consequence != Consequence::kForeignSignal)
    return other.consequence == some.consequence;
  return fingerprint_of(other) == fingerprint_of(some);
}

std::vector<WorkerEnd> fold_ends(std::vector<WorkerEnd> ends, std::size_t most) {
  std::ranges::sort(ends, {}, [](const WorkerEnd& end) {
    return std::tuple{end.blame, end.began_us, end.ranks};
  });
  std::vector<WorkerEnd> folded;
  for (WorkerEnd& end : ends) {
    const auto alike =
        std::ranges::find_if(folded, [&](const WorkerEnd& other) { return are_alike(other, end); });
    if (alike == folded.end()) {
      folded.push_back(std::move(end));
      continue;
    }
    alike->ranks = united(alike->ranks, end.ranks);
    alike->ended_us = std::min(alike->ended_us, end.ended_us);
  }
  if (folded.size() > most) folded.resize(most);
  return folded;
}

}  // namespace ddprun
