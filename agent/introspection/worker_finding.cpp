#include "agent/introspection/worker_finding.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kStackBytesMax = 2900;  // a message takes it, with room for its escapes

std::string group_text(const GroupName& group) {
  if (group.description.empty() || group.description == "undefined") return group.name;
  return group.name + " (" + group.description + ")";
}

std::string in_kernel(const std::string& channel) {
  return channel.empty() ? "" : " (" + channel + ")";
}

HeldUp held_up(const WorkerFinding& f) {
  if (f.ending == Ending::kFailed) return HeldUp::kFailed;
  if (f.ending == Ending::kGaveUp) return HeldUp::kGaveUp;
  if (f.ending == Ending::kWell || f.state == 'Z' || f.state == 'X') return HeldUp::kEnded;
  if (f.state == 'T' || f.state == 't') return HeldUp::kStopped;
  if (f.state == 'D') return HeldUp::kInKernel;
  return f.keeps_lock ? HeldUp::kKeepsLock : HeldUp::kNo;
}

/// The end of a sentence about a worker that is held up.
std::string text_of(HeldUp held_up, const WorkerFinding& f) {
  switch (held_up) {
    case HeldUp::kFailed:
      return "has failed";
    case HeldUp::kGaveUp:
      return "has waited in vain, and failed";
    case HeldUp::kEnded:
      return f.ending == Ending::kWell ? "has ended, with code 0" : "has ended";
    case HeldUp::kStopped:
      return f.state == 'T' ? "is stopped (SIGSTOP)" : "is stopped by a debugger";
    case HeldUp::kInKernel:
      return "sleeps in the kernel where no signal reaches it" + in_kernel(f.wait_channel) +
             ": a file system or a device hangs";
    case HeldUp::kKeepsLock:
      return "keeps the interpreter's lock (GIL) in native code";
    case HeldUp::kNo:
      break;
  }
  return "";
}

/// Where it waits for other ranks.
struct Wait {
  std::string text;
  std::string operation;
};

std::optional<Wait> waiting(const WorkerFinding& f) {
  if (f.pending) {
    std::string text = "waits in " + f.pending->operation;
    if (f.pending->sequence > 0) text += ", number " + std::to_string(f.pending->sequence);
    if (!f.pending->group.name.empty()) text += " of group " + group_text(f.pending->group);
    if (!f.pending->shapes.empty()) text += ", " + f.pending->shapes;
    return Wait{text, f.pending->operation};
  }
  if (f.waits_in == "init_process_group") return Wait{"waits in init_process_group", f.waits_in};
  if (!f.waits_in.empty())
    return Wait{"waits in the store (" + f.waits_in + ")", "TCPStore:" + f.waits_in};
  if (const auto operation = waits_for_others(f.frames))
    return Wait{"waits in " + *operation, *operation};
  return std::nullopt;
}

std::string activity(const WorkerFinding& f) {
  const Frames frames = f.frames.empty() ? parse_stack_text(f.native_stack) : f.frames;
  const Frame* const frame = user_frame(frames);
  const bool has_place = frame != nullptr && !frame->file.empty();
  const std::string at = has_place ? " at " + describe(*frame) : "";
  if (!f.data_loaders.empty()) return "waits for its data loader" + at;
  if (f.thread_wait == ThreadWait::kAtExit) return "has ended, and waits for a thread" + at;
  if (f.thread_wait == ThreadWait::kJoin) return "waits for a thread" + at;
  const bool sleeps = f.state == 'S' && (f.idle || !f.has_server);
  if (sleeps) return "sleeps" + (at.empty() ? in_kernel(f.wait_channel) : at);
  if (!at.empty()) return "is" + at;
  if (f.has_server && !f.answers) return "does not answer";
  if (!f.looked_into && f.state == '?') return "has not started yet";
  return f.has_server || !f.looked_into ? "runs" : "runs, and has not imported torch.distributed";
}

/// The user's line that waits: torch's own frames lie above it.
std::string called_at(const Frames& frames) {
  const Frame* const frame = user_frame(frames);
  const bool own = frame != nullptr && !frame->file.empty() && !is_library_file(frame->file);
  return own ? ", called at " + describe(*frame) : "";
}

StackGroup of_child(const WorkerFinding& finding, const WorkerFinding::Child& child) {
  const Frame* const frame = user_frame(child.frames);
  const std::string state = child.state == 'T' ? "is stopped (SIGSTOP)" : "is";
  return {.ranks = std::to_string(finding.rank),
          .doing = "has a data loader's process (" + std::to_string(child.pid) + ") that " + state +
                   (frame != nullptr ? " at " + describe(*frame) : ""),
          .stack = stack_text(child.frames, kStackBytesMax)};
}

}  // namespace

bool sleeps_by_itself(const WorkerFinding& finding) {
  return finding.state == 'S' && held_up(finding) == HeldUp::kNo && !finding.frames.empty() &&
         !waiting(finding);
}

std::vector<StackGroup> describe(const WorkerFinding& finding) {
  StackGroup group{.ranks = std::to_string(finding.rank), .held_up = held_up(finding)};
  const bool stuck = group.held_up != HeldUp::kNo;
  const auto wait = waiting(finding);
  group.doing = stuck  ? text_of(group.held_up, finding)
                : wait ? wait->text + called_at(finding.frames)
                       : activity(finding);
  group.stack = stack_text(finding.frames, kStackBytesMax);
  if (group.stack.empty()) group.stack = finding.native_stack;
  if (wait && !stuck) {
    group.operation = wait->operation;
    if (finding.pending) {
      group.group = group_text(finding.pending->group);
      group.sequence = finding.pending->sequence;
      group.shapes = finding.pending->shapes;
    }
  }
  std::vector<StackGroup> groups;
  for (const auto& child : finding.data_loaders)
    if (!child.frames.empty() && !waits_for_work(child.frames))
      groups.push_back(of_child(finding, child));
  groups.push_back(std::move(group));
  return groups;
}

std::vector<StackGroup> fold(const std::vector<WorkerFinding>& findings) {
  struct Group {
    StackGroup group;
    std::vector<int> ranks;
  };
  std::vector<Group> groups;
  for (const WorkerFinding& finding : findings)
    for (StackGroup& group : describe(finding)) {
      group.ranks.clear();
      const auto same =
          std::ranges::find_if(groups, [&](const Group& g) { return g.group == group; });
      if (same == groups.end())
        groups.push_back({std::move(group), {finding.rank}});
      else
        same->ranks.push_back(finding.rank);
    }
  std::vector<StackGroup> folded;
  for (Group& group : groups) {
    std::ranges::sort(group.ranks);
    // clang 14 does not compile std::ranges::unique
    group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()), group.ranks.end());
    group.group.ranks = format_number_list(group.ranks);
    folded.push_back(std::move(group.group));
  }
  return folded;
}

}  // namespace ddprun
