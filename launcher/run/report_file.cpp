#include "launcher/run/report_file.hpp"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/system/fresh_id.hpp"

namespace ddprun {

void write_report(const JobReport& report, const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return;
  const std::string text = to_json(report);
  for (const auto& file : files)
    if (const auto written = write_whole(file, text); !written)
      spdlog::warn("{}", written.error().message);
}

Result<void> write_whole(const std::filesystem::path& path, const std::string& text) {
  const auto refused = [&] {
    return Error{Error::Kind::kUnavailable,
                 "cannot write " + path.string() + ": " + std::strerror(errno)};
  };
  std::filesystem::path fresh = path;
  fresh += "." + fresh_id() + ".tmp";  // several nodes may share the folder
  {
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text;
    file.close();
    if (!file) {
      const Error error = refused();
      std::error_code ignored;
      std::filesystem::remove(fresh, ignored);
      return error;
    }
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return refused();
  return {};
}

}  // namespace ddprun
