#include "launcher/run/report_writer.hpp"

#include <memory>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/seconds_text.hpp"
#include "launcher/run/report_file.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kReportTimeout = 2s;

std::string names_of(const std::vector<std::filesystem::path>& files) {
  std::string names;
  for (const auto& file : files) names += (names.empty() ? "" : ", ") + file.string();
  return names;
}

}  // namespace

void ReportWriter::write(const JobReport& report) {
  if (files_.empty()) return;
  const auto added = queue_.add([report, files = files_] { write_report(report, files); });
  if (!added) log::warn("a report is not written: {}", added.error().message);
}

/// What the thread warns of reaches nobody any more, so it is told here.
void ReportWriter::write_last(const JobReport& report) {
  const auto files = std::exchange(files_, {});  // none is written behind it
  if (files.empty()) return;
  const auto errors = std::make_shared<std::vector<Error>>();
  const auto added =
      queue_.add([report, files, errors] { *errors = try_to_write_report(report, files); });
  if (!added) return write_report(report, files);
  if (!queue_.done_within(kReportTimeout))
    return log::warn(
        "the report is not written: no answer within {} from {}: is its disk or its "
        "server there?",
        seconds_text(kReportTimeout), names_of(files));
  for (const Error& error : *errors) log::warn("{}", error.message);
}

}  // namespace ddprun
