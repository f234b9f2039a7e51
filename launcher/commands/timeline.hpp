// Timeline makes a trace of a job's event logs, which Perfetto (https://ui.perfetto.dev) and
// chrome://tracing draw: each node is a process there, and each rank a thread of it. Pure.
//
// Format: the JSON object of "Trace Event Format", https://docs.google.com/document/d/
// 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Complete events (X) are spans, instant events (i)
// are what happened at once, metadata events (M) are names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

class Timeline {
 public:
  /// Takes a line of an event log (agent/reports/job_events.hpp), of any node and in any order.
  /// Returns false, and passes it over, when it is none: an agent that was killed may have left
  /// half a line.
  bool add(std::string_view line);

  bool empty() const { return events_.empty(); }

  /// The trace of all events, by their times, as JSON with its end.
  std::string trace() const;

 private:
  struct Event {
    double time_s = 0;  // since 1970
    std::string node;
    std::string kind;
    nlohmann::json fields;
  };
  std::vector<Event> events_;

  friend class TraceWriter;
};

}  // namespace ddprun
