#include "launcher/run/report_file.hpp"

#include <string>

#include "base/log.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return;
  const std::string text = to_json(report);
  for (const auto& file : files)
    if (const auto written = write_whole(file, text); !written)
      log::warn("{}", written.error().message);
}

}  // namespace ddprun
