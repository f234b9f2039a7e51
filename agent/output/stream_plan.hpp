// StreamPlan: where one stream of one worker goes. plan_output() decides it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace ddprun
