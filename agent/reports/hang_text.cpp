#include "agent/reports/hang_text.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kLinesMax = 24;
constexpr std::size_t kFramesOfFirst = 8;
constexpr std::size_t kFramesOfOthers = 3;

}  // namespace

std::vector<std::string> hang_lines(const HangReport& report) {
  std::vector<std::string> lines{"the workers hang: " + report.sentence};
  bool first = true;
  std::size_t shown = 0;
  for (const StackGroup& group : report.stacks) {
    const std::vector<Frame> frames = parse_stack_text(group.stack);
    const std::size_t count = std::min(frames.size(), first ? kFramesOfFirst : kFramesOfOthers);
    if (lines.size() + count + 2 > kLinesMax) break;
    lines.push_back(fmt::format("  [{}] {}", group.ranks, group.doing));
    for (std::size_t i = 0; i < count; ++i) lines.push_back("      " + frame_text(frames[i]));
    first = false;
    ++shown;
  }
  if (shown < report.stacks.size())
    lines.push_back(fmt::format("  and {} other stacks", report.stacks.size() - shown));
  return lines;
}

}  // namespace ddprun
