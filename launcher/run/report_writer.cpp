#include "launcher/run/report_writer.hpp"

#include <boost/asio/post.hpp>

#include "launcher/run/report_file.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// Reports of hangs that are being written at the end are given this long.
constexpr auto kReportTimeout = 2s;

}  // namespace

void ReportWriter::write(const JobReport& report) {
  if (files_.empty()) return;
  if (!thread_) {
    loop_ = std::make_unique<asio::io_context>(1);
    thread_.emplace(*loop_, home_);
  }
  asio::post(*loop_, [report, files = files_] { write_report(report, files); });
}

void ReportWriter::write_last(const JobReport& report) {
  if (thread_) thread_->end_within(kReportTimeout);
  write_report(report, files_);
}

}  // namespace ddprun
