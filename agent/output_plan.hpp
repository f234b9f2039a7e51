// plan_output() decides where each stream of a worker goes. Pure.
//
// Files and prefix are torchrun's
// (https://docs.pytorch.org/docs/stable/elastic/multiprocessing.html): attempt_<n>/<local
// rank>/stdout.log and stderr.log, attempt_<n>/filtered_stdout.log.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/launch_spec.hpp"
#include "agent/worker_plan.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// One stream of one worker.
struct StreamPlan {
  bool shown = true;                    // on ddprun's own stream
  std::string prefix;                   // before every line that is shown; "": bytes as they come
  std::filesystem::path file;           // gets every byte; "": none
  std::filesystem::path filtered_file;  // gets the lines that contain one of `filters`
  std::vector<std::string> filters;
  bool terminal = false;  // the worker sees a terminal

  /// Nobody has to look at the bytes: the worker writes to the file, or to nowhere, by itself.
  bool direct() const { return !shown && !terminal; }
};

struct OutputPlan {
  StreamPlan out;
  StreamPlan err;
};

/// Where the streams of worker `local_rank` of this node go in `round`.
OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round, const NodeFacts& node,
                       int local_rank);

/// Who writes a line.
struct LineWriter {
  std::string role;
  std::string host;  // the name of its node
  int rank = 0;
  int local_rank = 0;
};

/// The prefix of a worker's lines: the template `text` (template_text.hpp) with role_name, rank,
/// local_rank and hostname put in.
std::string line_prefix(const std::string& text, const LineWriter& writer);

/// `text` with `prefix` before each of its lines; a carriage return begins the line anew.
/// `line_start`: whether its first byte begins a line.
std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start);

/// The lines of `text` that contain one of `filters`, each behind `prefix` and ended.
std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters);

}  // namespace ddprun
