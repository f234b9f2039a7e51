// Reads the small files in which the kernel describes a machine, below /sys and /proc. The files
// may also be a record of another machine that somebody has sent, so nothing is read without a
// limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// The longest file that the kernel writes is a list of every second of kCpusMax CPUs: 20 KB.
inline constexpr std::size_t kSysfsFileBytesMax = 64 * 1024;
/// The largest folders have a file for each CPU or PCI device.
inline constexpr std::size_t kSysfsNamesMax = 65'536;

bool is_there(const std::filesystem::path& file);

/// The first line, without its end; nullopt when the file cannot be read, or is longer than
/// kSysfsFileBytesMax.
std::optional<std::string> first_line(const std::filesystem::path& file);

/// The first line, or "" where the file cannot be read.
std::string line_of(const std::filesystem::path& file);

/// Errors: kNotFound when the file cannot be read, kInvalid when it has no number.
Result<int> read_number(const std::filesystem::path& file);

/// Reads CPUs as parse_cpu_list() does. Errors: kNotFound, kInvalid.
Result<std::vector<int>> read_cpu_list(const std::filesystem::path& file);

/// The number behind a name at the beginning of a line: "MemTotal:  131072 kB", "oom_kill 4".
std::optional<std::int64_t> number_behind(std::string_view name, const std::string& text);

/// What proc/meminfo below `root` tells.
struct MachineMemory {
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> available_bytes;  // with what the kernel can give back
};
MachineMemory machine_memory(const std::filesystem::path& root);

/// The names in any folder, sorted; none when there is no such folder, and at most kSysfsNamesMax.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// The 12 of "node12"; nullopt for other names.
std::optional<int> number_after(std::string_view prefix, std::string_view name);

}  // namespace ddprun
