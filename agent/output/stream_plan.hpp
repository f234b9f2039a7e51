// StreamPlan: where one stream of one worker goes. plan_output() decides it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/output/log_rotation.hpp"

namespace ddprun {

/// One stream of one worker.
struct StreamPlan {
  bool shown = true;                    // on ddprun's own stream
  std::string prefix;                   // before every line that is shown; "": bytes as they come
  std::filesystem::path file;           // gets every byte; "": none
  std::filesystem::path filtered_file;  // gets the lines that contain one of `filters`
  std::vector<std::string> filters;
  bool terminal = false;  // the worker sees a terminal
  bool folded = false;    // lines that other workers say, too, are shown once
  bool stamped = false;   // each line begins with its time, in files and behind a prefix
  RotationRule rotation;  // for `file`

  bool has_files() const { return !file.empty() || !filters.empty(); }

  /// ddprun need not see the bytes: the worker writes to the file, or to nowhere, by itself.
  bool direct() const { return !shown && !terminal && !stamped && rotation.bytes_max == 0; }
};

}  // namespace ddprun
