#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "worker_sdk/checkpoint_files/hashed_file.hpp"
#include "worker_sdk/checkpoint_files/input_file.hpp"
#include "worker_sdk/checkpoint_files/tensor_table.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kUnfinishedPrefix = ".checkpoint-";
constexpr std::string_view kUnfinishedSuffix = ".tmp";
constexpr std::size_t kDigits = 12;
constexpr std::string_view kTensorSuffix = ".safetensors";

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

/// What is there under a name may be a symbolic link, which leads out of the checkpoint.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Makes a Flaw of what `read` throws about a file that is there and cannot be what was written.
template <typename Read>
auto damaged_unless(Read read) {
  try {
    return read();
  } catch (const std::runtime_error& e) {
    throw Flaw{CheckpointState::kDamaged, e.what()};
  }
}

CheckpointManifest read_manifest(const fs::path& path) {
  const fs::path name = path / kManifestFile;
  if (!is_there(name)) throw Flaw{CheckpointState::kIncomplete, "there is no manifest.json"};
  return damaged_unless([&] {
    const InputFile file{name};
    if (file.bytes() > kManifestBytesMax)
      throw Flaw{CheckpointState::kDamaged, "manifest.json has " + std::to_string(file.bytes()) +
                                                " bytes, and " + std::to_string(kManifestBytesMax) +
                                                " are read at most"};
    return decode_manifest(file.read_text(file.bytes()));
  });
}

void check_size(const fs::path& folder, const CheckpointFile& file) {
  const fs::path path = folder / file.name;
  if (!is_there(path)) throw Flaw{CheckpointState::kIncomplete, file.name + " cannot be read"};
  const auto bytes = damaged_unless([&] { return InputFile{path}.bytes(); });
  if (bytes != file.bytes)
    throw Flaw{CheckpointState::kDamaged, file.name + " has " + std::to_string(bytes) +
                                              " bytes, the manifest says " +
                                              std::to_string(file.bytes)};
}

void check_hash(const fs::path& folder, const CheckpointFile& file) {
  const std::string sha256 = damaged_unless([&] { return sha256_of_file(folder / file.name); });
  if (sha256 != file.sha256)
    throw Flaw{CheckpointState::kDamaged,
               file.name + " has the SHA-256 " + sha256 + ", the manifest says " + file.sha256};
}

/// A checkpoint that somebody has made to look right can have right hashes, and tensors that lie
/// elsewhere.
void check_tensors(const fs::path& folder, const CheckpointFile& file) {
  if (!file.name.ends_with(kTensorSuffix)) return;
  try {
    const InputFile input{folder / file.name};
    const std::string length = input.bytes() < kHeaderLengthBytes
                                   ? std::string(kHeaderLengthBytes, '\0')
                                   : input.read_text(kHeaderLengthBytes);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, length.data(), sizeof header_bytes);
    check_header_length(header_bytes, input.bytes());
    parse_tensor_table(input.read_text(header_bytes),
                       input.bytes() - kHeaderLengthBytes - header_bytes);
  } catch (const std::runtime_error& e) {
    throw Flaw{CheckpointState::kDamaged,
               file.name + " is not a complete safetensors file: " + e.what()};
  }
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
    if (hash) {
      for (const CheckpointFile& file : entry.manifest->files) {
        check_hash(path, file);
        check_tensors(path, file);
      }
    }
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
