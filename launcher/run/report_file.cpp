#include "launcher/run/report_file.hpp"

#include <string>

#include "base/log.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

std::vector<Error> try_to_write_report(const JobReport& report,
                                       const std::vector<std::filesystem::path>& files) {
  std::vector<Error> errors;
  if (files.empty()) return errors;
  const std::string text = to_json(report);
  for (const auto& file : files)
    if (const auto written = write_whole(file, text); !written) errors.push_back(written.error());
  return errors;
}

void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files) {
  for (const Error& error : try_to_write_report(report, files)) log::warn("{}", error.message);
}

}  // namespace ddprun
