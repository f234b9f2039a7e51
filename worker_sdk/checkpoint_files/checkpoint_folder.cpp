#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kUnfinishedPrefix = ".checkpoint-";
constexpr std::string_view kUnfinishedSuffix = ".tmp";
constexpr std::size_t kDigits = 12;
constexpr std::uintmax_t kManifestBytesMax = 64 * 1024 * 1024;

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// What is wrong with a checkpoint. The checks below throw it, and look_at() catches it.
struct Flaw {
  CheckpointState state;
  std::string reason;
};

CheckpointManifest read_manifest(const fs::path& path) {
  const fs::path file = path / kManifestFile;
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error) throw Flaw{CheckpointState::kIncomplete, "there is no manifest.json"};
  if (bytes > kManifestBytesMax)
    throw Flaw{CheckpointState::kDamaged, "manifest.json has " + std::to_string(bytes) + " bytes"};
  std::ostringstream text;
  text << std::ifstream{file, std::ios::binary}.rdbuf();
  try {
    return decode_manifest(text.str());
  } catch (const std::runtime_error& e) {
    throw Flaw{CheckpointState::kDamaged, e.what()};
  }
}

void check_size(const fs::path& folder, const CheckpointFile& file) {
  std::error_code error;
  const auto bytes = fs::file_size(folder / file.name, error);
  if (error) throw Flaw{CheckpointState::kIncomplete, file.name + " cannot be read"};
  if (bytes != file.bytes)
    throw Flaw{CheckpointState::kDamaged, file.name + " has " + std::to_string(bytes) +
                                              " bytes, the manifest says " +
                                              std::to_string(file.bytes)};
}

void check_hash(const fs::path& folder, const CheckpointFile& file) {
  std::string sha256;
  try {
    sha256 = sha256_of_file(folder / file.name);
  } catch (const std::runtime_error& e) {
    throw Flaw{CheckpointState::kDamaged, e.what()};
  }
  if (sha256 != file.sha256)
    throw Flaw{CheckpointState::kDamaged,
               file.name + " has the SHA-256 " + sha256 + ", the manifest says " + file.sha256};
}

CheckpointEntry look_at(const fs::path& path, bool hash) {
  CheckpointEntry entry{.step = parse_checkpoint_name(path.filename().string()).value_or(0),
                        .path = path,
                        .state = CheckpointState::kComplete,
                        .reason = "",
                        .manifest = std::nullopt};
  try {
    entry.manifest = read_manifest(path);
    if (entry.manifest->step != entry.step)
      throw Flaw{CheckpointState::kDamaged,
                 "its manifest is that of step " + std::to_string(entry.manifest->step)};
    for (const CheckpointFile& file : entry.manifest->files) check_size(path, file);
    for (const CheckpointFile& file : entry.manifest->files)
      if (hash) check_hash(path, file);
  } catch (const Flaw& flaw) {
    entry.state = flaw.state;
    entry.reason = flaw.reason;
  }
  return entry;
}

}  // namespace

const char* to_string(CheckpointState state) {
  switch (state) {
    case CheckpointState::kComplete:
      return "complete";
    case CheckpointState::kIncomplete:
      return "incomplete";
    case CheckpointState::kDamaged:
      return "damaged";
  }
  return "unknown";
}

std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(digits.size(), kDigits), '0');
  return std::string{kPrefix} + digits;
}

std::optional<std::int64_t> parse_checkpoint_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return parse_number(std::string_view{name}.substr(kPrefix.size()));
}

std::string unfinished_name(std::int64_t step, const std::string& token) {
  return "." + checkpoint_name(step) + "." + token + std::string{kUnfinishedSuffix};
}

std::optional<std::int64_t> parse_unfinished_name(const std::string& name) {
  if (!name.starts_with(kUnfinishedPrefix) || !name.ends_with(kUnfinishedSuffix))
    return std::nullopt;
  const auto rest = std::string_view{name}.substr(kUnfinishedPrefix.size());
  return parse_number(rest.substr(0, rest.find('.')));
}

CheckpointEntry inspect_checkpoint(const fs::path& path) { return look_at(path, false); }

CheckpointEntry verify_checkpoint(const fs::path& path) { return look_at(path, true); }

std::vector<CheckpointEntry> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointEntry> found;
  for (const auto& entry : fs::directory_iterator{folder})
    if (parse_checkpoint_name(entry.path().filename().string()))
      found.push_back(inspect_checkpoint(entry.path()));
  std::ranges::sort(found, std::greater{}, &CheckpointEntry::step);
  return found;
}

std::vector<CheckpointEntry> list_unfinished(const fs::path& folder) {
  std::vector<CheckpointEntry> found;
  for (const auto& entry : fs::directory_iterator{folder})
    if (const auto step = parse_unfinished_name(entry.path().filename().string()))
      found.push_back({.step = *step,
                       .path = entry.path(),
                       .state = CheckpointState::kIncomplete,
                       .reason = "it is being written, or was left unfinished",
                       .manifest = std::nullopt});
  std::ranges::sort(found, std::greater{}, &CheckpointEntry::step);
  return found;
}

std::vector<CheckpointEntry> outdated(const std::vector<CheckpointEntry>& newest_first,
                                      const Retention& retention) {
  std::vector<CheckpointEntry> going;
  int complete = 0;
  for (const CheckpointEntry& entry : newest_first) {
    const bool ours = entry.state == CheckpointState::kComplete;
    const bool enough = complete >= retention.keep;
    if (ours) ++complete;
    const bool for_good =
        ours && retention.keep_every > 0 && entry.step % retention.keep_every == 0;
    if (enough && !for_good) going.push_back(entry);
  }
  return going;
}

}  // namespace ddprun::sdk
