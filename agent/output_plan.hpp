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

/// Where the streams of worker `local_rank` go in `round`. `directory` is the round_directory() of
/// that round, `terminals` says which of ddprun's own streams are terminals.
OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round,
                       const std::filesystem::path& directory, Streams terminals, int local_rank);

/// The prefix of a worker's lines: the template `text` (template_text.hpp) with role_name, rank and
/// local_rank put in.
std::string line_prefix(const std::string& text, const std::string& role, int rank, int local_rank);

/// `text` with `prefix` before each of its lines; a carriage return begins the line anew.
/// `line_start`: whether its first byte begins a line.
std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start);

/// The lines of `text` that contain one of `filters`, each behind `prefix` and ended.
std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters);

}  // namespace ddprun
