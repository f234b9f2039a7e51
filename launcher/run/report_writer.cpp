#include "launcher/run/report_writer.hpp"

#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kReportTimeout = 2s;

std::string names_of(const std::vector<std::filesystem::path>& files) {
  std::string names;
  for (const auto& file : files) names += (names.empty() ? "" : ", ") + file.string();
  return names;
}

/// Writes the report to each of `files`, and returns why some of them cannot be written.
std::vector<Error> try_to_write(const JobReport& report,
                                const std::vector<std::filesystem::path>& files) {
  std::vector<Error> errors;
  const std::string text = to_json(report);
  for (const auto& file : files)
    if (const auto written = write_whole(file, text); !written) errors.push_back(written.error());
  return errors;
}

void warn_of(const std::vector<Error>& errors) {
  for (const Error& error : errors) log::warn("{}", error.message);
}

}  // namespace

/// Shows a mistyped name before the job has run for hours.
void ReportWriter::add_file(std::filesystem::path file) {
  const auto added = queue_.add([folder = file.parent_path()] {
    std::error_code unknown;
    if (!folder.empty() && !std::filesystem::exists(folder, unknown))
      log::warn("there is no folder '{}' yet: the report is lost unless it is made",
                folder.string());
  });
  if (!added) log::warn("{}", added.error().message);
  files_.push_back(std::move(file));
}

void ReportWriter::write(const JobReport& report) {
  if (files_.empty()) return;
  const auto added = queue_.add([report, files = files_] { warn_of(try_to_write(report, files)); });
  if (!added) log::warn("a report is not written: {}", added.error().message);
}

/// Warnings of the thread are not shown any more, so this is reported here.
void ReportWriter::write_last(const JobReport& report) {
  const auto files = std::exchange(files_, {});  // none is written behind it
  if (files.empty()) return;
  const auto errors = std::make_shared<std::vector<Error>>();
  const auto added = queue_.add([report, files, errors] { *errors = try_to_write(report, files); });
  if (!added) return warn_of(try_to_write(report, files));
  if (!queue_.done_within(kReportTimeout))
    return log::warn("the report is not written: no answer within {} from {}: {}",
                     seconds_text(kReportTimeout), names_of(files), kIsItThere);
  warn_of(*errors);
}

}  // namespace ddprun
