#include "launcher/record/record_folder.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/whole_file.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

constexpr char kRecordBegins[] = ".last-good-run.";
constexpr char kRecordEnds[] = ".json";
constexpr char kUnfinishedEnds[] = ".tmp";  // write_whole() writes such a file first
/// No process has been writing for that long, whatever the clocks of the nodes say.
constexpr std::chrono::hours kUnfinishedAgeMax{24};
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kHashDigits = 8;

/// Whatever a script is called, its record is a file of this folder.
std::string plain_name(std::string name) {
  name.resize(std::min(name.size(), kNameBytesMax));
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; },
      '_');
  return name;
}

Error no_record(const fs::path& file, const std::string& why) {
  return invalid("'" + file.string() + "' is no record of a good run (" + why + ")");
}

/// The oldest ones go, so that a folder that many scripts share does not fill up; and what a
/// process has left that was killed while it wrote one.
void tidy_up(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> records;
  const auto oldest_unfinished = fs::file_time_type::clock::now() - kUnfinishedAgeMax;
  std::error_code error;
  for (fs::directory_iterator each{folder, error}, end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    const bool unfinished = name.ends_with(kUnfinishedEnds);
    if (!name.starts_with(kRecordBegins) || !(unfinished || name.ends_with(kRecordEnds))) continue;
    std::error_code gone;
    const auto written = each->last_write_time(gone);
    if (gone) continue;
    if (!unfinished)
      records.emplace_back(written, each->path());
    else if (written < oldest_unfinished)
      fs::remove(each->path(), gone);
  }
  if (records.size() <= kRecordsMax) return;
  std::ranges::sort(records);
  records.resize(records.size() - kRecordsMax);
  for (const auto& [written, path] : records) fs::remove(path, error);
}

}  // namespace

std::string record_file_name(const RecordedScript& script) {
  sdk::Sha256 hash;
  hash.update(script.path.data(), script.path.size());
  return kRecordBegins + plain_name(script.name) + "." + hash.hex().substr(0, kHashDigits) +
         kRecordEnds;
}

Result<std::optional<RunRecord>> read_good_run(const fs::path& folder,
                                               const RecordedScript& script) {
  const fs::path path = folder / record_file_name(script);
  const auto text = read_text(path, kRunRecordBytesMax);
  if (!text && text.error().kind == Error::Kind::kNotFound) return std::optional<RunRecord>{};
  if (!text) return no_record(path, text.error().message);
  auto record = parse_run_record(*text);
  if (!record) return no_record(path, record.error().message);
  return std::optional{std::move(*record)};
}

Result<void> write_good_run(const fs::path& folder, const RunRecord& record) {
  auto written = write_whole(folder / record_file_name(record.script), to_json(record));
  if (written) tidy_up(folder);
  return written;
}

}  // namespace ddprun
