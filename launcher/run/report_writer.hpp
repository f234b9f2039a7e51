// ReportWriter: the reports of a run, on their way to the files that want them.
//
// A folder that hangs holds up only the thread that writes to it, which is left behind then.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/reports/job_report.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

class ReportWriter {
 public:
  /// Writes all further reports to this file, too. Warns if its folder is not there yet.
  void add_file(std::filesystem::path file);

  /// Writes a report of a job that goes on.
  void write(const JobReport& report);

  /// Writes the report that is to stay. It has two seconds for that.
  void write_last(const JobReport& report);

 private:
  std::vector<std::filesystem::path> files_;
  LeftBehindQueue queue_{/*tasks_max=*/16};
};

}  // namespace ddprun
