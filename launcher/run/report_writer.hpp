// ReportWriter: the reports of a run, on their way to the files that want them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "agent/reports/job_report.hpp"
#include "base/asio.hpp"
#include "launcher/run/loop_thread.hpp"

namespace ddprun {

class ReportWriter {
 public:
  /// Errors of the thread that writes are thrown on in `home`, which must live longer.
  explicit ReportWriter(asio::io_context& home) : home_{home} {}

  /// Writes all further reports to this file, too.
  void add_file(std::filesystem::path file) { files_.push_back(std::move(file)); }

  /// Writes a report of a job that goes on. A disk that hangs holds up only the thread that writes
  /// to it.
  void write(const JobReport& report);

  /// Writes the report that is to stay.
  void write_last(const JobReport& report);

 private:
  asio::io_context& home_;
  std::vector<std::filesystem::path> files_;
  std::unique_ptr<asio::io_context> loop_;
  std::optional<LoopThread> thread_;  // runs loop_; made for the first hang
};

}  // namespace ddprun
