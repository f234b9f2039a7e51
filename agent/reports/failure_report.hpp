// The text that tells a user why the job failed: one report, from the first worker that did. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/messages/messages.hpp"

namespace ddprun {

/// All that the report tells.
struct FailedJob {
  std::string title;                  // the script or program
  WorkerFailure first;                // the whole job's; without a host when no worker failed
  int attempts = 1;                   // how often the job was run in all
  std::vector<WorkerFailure> others;  // workers of this node that failed by themselves, too
  std::vector<int> stopped;           // global ranks of this node that ddprun stopped because of it
  /// Why it failed, as the coordinator has found; nullopt: it is of an earlier release.
  std::optional<Verdict> verdict = {};
};

/// The report has at most so many lines above the block that torchrun ends with.
inline constexpr std::size_t kReportLinesMax = 30;

/// Tells who failed and how, in one sentence: "rank 1 (local rank 1 on host a, pid 4711) was killed
/// by SIGKILL (signal 9)".
std::string summarize(const WorkerFailure& failure);

/// The report, several lines with their ends: what failed, where, its exception and its last lines;
/// then the block that torchrun ends with, which programs that read logs look for ("Root Cause
/// (first observed failure)", https://docs.pytorch.org/docs/stable/elastic/errors.html). Control
/// characters in any text are written as their numbers (base/printable.hpp).
std::string failure_report(const FailedJob& failed);

}  // namespace ddprun
