#include "rendezvous/messages/inspect_messages.hpp"

#include <cstddef>

#include "base/text.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kRanksNamed = 3;

std::string line_of(const DebuggedRank& debugged) {
  const std::string number = std::to_string(debugged.rank);
  if (!debugged.waits)
    return "rank " + number + " is being debugged: no rank is called hung or slow meanwhile";
  const std::string at = debugged.at.empty() ? "" : " at " + debugged.at;
  const std::string why = debugged.why.empty() ? "" : " (" + debugged.why + ")";
  return plain_line("rank " + number + " waits" + at + " for a debugger" + why + ": ddprun debug " +
                    number);
}

}  // namespace

std::vector<std::string> lines_of(const std::vector<DebuggedRank>& ranks) {
  std::vector<std::string> lines;
  for (const DebuggedRank& debugged : ranks) {
    if (lines.size() == kRanksNamed) {
      lines.push_back("and " + std::to_string(ranks.size() - kRanksNamed) + " more");
      break;
    }
    lines.push_back(line_of(debugged));
  }
  return lines;
}

}  // namespace ddprun
