#include "base/machine/sysfs_files.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "base/numbers.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

Error invalid(const fs::path& file, const std::string& why) {
  return {Error::Kind::kInvalid, file.string() + ": " + why};
}

Error missing(const fs::path& file) {
  return {Error::Kind::kNotFound,
          "the kernel does not describe its CPUs: " + file.string() + " cannot be read"};
}

}  // namespace

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

std::optional<std::string> first_line(const fs::path& file) {
  auto text = read_text(file, kSysfsFileBytesMax);
  if (!text) return std::nullopt;
  text->resize(std::min(text->find('\n'), text->size()));
  return *std::move(text);
}

std::string line_of(const fs::path& file) { return first_line(file).value_or(""); }

Result<int> read_number(const fs::path& file) {
  const auto line = first_line(file);
  if (!line) return missing(file);
  const auto number = parse_number<int>(*line);
  if (!number) return invalid(file, "'" + *line + "' is not a number");
  return *number;
}

Result<std::vector<int>> read_cpu_list(const fs::path& file) {
  const auto line = first_line(file);
  if (!line) return missing(file);
  auto cpus = parse_cpu_list(*line);
  if (!cpus) return invalid(file, cpus.error().message);
  return cpus;
}

std::optional<std::int64_t> number_behind(std::string_view name, const std::string& text) {
  for (const std::string& line : split_lines(text)) {
    if (!line.starts_with(name)) continue;
    std::istringstream words{line};
    std::string first, second;
    words >> first >> second;
    if (first == name) return parse_number<std::int64_t>(second);
  }
  return std::nullopt;
}

MachineMemory machine_memory(const std::filesystem::path& root) {
  const std::string text = text_if_any(root / "proc/meminfo");
  const auto bytes_behind = [&](std::string_view name) {
    const auto kilobytes = number_behind(name, text);
    return kilobytes ? std::optional{*kilobytes * 1024} : std::nullopt;
  };
  return {bytes_behind("MemTotal:"), bytes_behind("MemAvailable:")};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry{folder, failed}, end;
       !failed && entry != end && names.size() < kSysfsNamesMax; entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::optional<int> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return parse_number<int>(name.substr(prefix.size()));
}

}  // namespace ddprun
