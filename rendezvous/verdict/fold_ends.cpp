#include "rendezvous/verdict/fold_ends.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/rank_list.hpp"

namespace ddprun {

namespace {

/// Numbers (pids, ports, addresses) differ from one attempt to the next.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) out += c;
    if (digit && !out.ends_with('#')) out += '#';
  }
  return out;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0: all of it
}

}  // namespace

std::string fingerprint_of(const WorkerEnd& end) {
  const Fault& fault = end.fault;
  if (!fault.type.empty() && fault.line > 0)
    return fault.type + " at " + file_name(fault.file) + ":" + std::to_string(fault.line);
  if (!fault.type.empty()) return fault.type + ": " + without_numbers(fault.message);
  if (end.kind == FailureKind::kOutOfMemory) return "out of memory";
  if (end.status.ok()) return "left early";
  const std::string how = describe(end.status);
  if (end.status.signal != 0) return how;
  return fault.message.empty() ? how : how + ": " + without_numbers(fault.message);
}

bool are_alike(const WorkerEnd& some, const WorkerEnd& other) {
  if (other.blame != some.blame || other.kind != some.kind) return false;
  if (some.blame == Blame::kStopped || some.blame == Blame::kDone) return true;
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
