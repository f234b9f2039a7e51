#include "agent/reports/hang_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/verdict/crash.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kLinesMax = 24;
constexpr std::size_t kFramesOfFirst = 8;
constexpr std::size_t kFramesOfOthers = 3;

/// Workers that only wait show the user's own frames: `doing` sums up torch's, which lie above.
std::vector<std::string> frame_lines(const StackGroup& group, bool whole) {
  const std::vector<Frame> frames = parse_stack_text(group.stack);
  const Frame* const own = whole ? nullptr : user_frame(frames);
  const std::size_t from = own == nullptr ? 0 : static_cast<std::size_t>(own - frames.data());
  const std::size_t end =
      std::min(frames.size(), from + (whole ? kFramesOfFirst : kFramesOfOthers));
  std::vector<std::string> lines;
  for (std::size_t i = from; i < end; ++i) lines.push_back("      " + frame_text(frames[i]));
  if (end < frames.size()) lines.back() += fmt::format("  (and {} callers)", frames.size() - end);
  return lines;
}

}  // namespace

std::vector<std::string> hang_lines(const HangReport& report) {
  std::vector<std::string> lines{"the workers hang: " + report.sentence};
  bool first = true;
  std::size_t shown = 0;
  for (const StackGroup& group : report.stacks) {
    const std::vector<std::string> frames = frame_lines(group, first);
    if (lines.size() + frames.size() + 2 > kLinesMax) break;
    lines.push_back(fmt::format("  [{}] {}", group.ranks, group.doing));
    lines.insert(lines.end(), frames.begin(), frames.end());
    first = false;
    ++shown;
  }
  if (shown < report.stacks.size())
    lines.push_back(fmt::format("  and {} other stacks", report.stacks.size() - shown));
  return lines;
}

}  // namespace ddprun
