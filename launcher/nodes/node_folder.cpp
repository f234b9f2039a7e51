#include "launcher/nodes/node_folder.hpp"

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "base/system/whole_file.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

Error unavailable(const fs::path& folder, const std::string& why) {
  return {Error::Kind::kUnavailable, "'" + folder.string() + "': " + why};
}

/// The names of all records, the oldest one first.
Result<std::vector<std::string>> node_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator each{folder, error};
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && each != fs::directory_iterator{}; each.increment(error))
    if (std::string name = each->path().filename().string(); is_node_file(name))
      names.push_back(std::move(name));
  if (error) return unavailable(folder, error.message());
  std::ranges::sort(names);
  return names;
}

Result<NodeRecord> read_record(const fs::path& path) {
  const auto text = read_text(path, kNodeRecordBytesMax);
  return text ? parse_node_record(*text) : text.error();
}

/// A process that removes the same file at the same time has done it as well.
void remove_oldest(const fs::path& folder) {
  const auto names = node_files(folder);
  if (!names) return;
  std::error_code gone;
  for (std::size_t i = 0; i + kNodeFailuresMax < names->size(); ++i)
    fs::remove(folder / (*names)[i], gone);
}

}  // namespace

Result<NodeRecords> read_node_records(const fs::path& folder, const NodeRecords& before) {
  const auto names = node_files(folder);
  if (!names) return names.error();
  NodeRecords found;
  const std::size_t skipped =
      names->size() - std::min<std::size_t>(names->size(), kNodeFailuresMax);
  for (std::size_t i = skipped; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    const auto known = std::ranges::lower_bound(before.names, name);
    const bool is_known = known != before.names.end() && *known == name;
    auto record =
        is_known ? before.records[known - before.names.begin()] : read_record(folder / name);
    std::error_code error;
    if (record) {
      found.names.push_back(name);
      found.records.push_back(std::move(*record));
    } else if (fs::exists(folder / name, error)) {  // else it was forgiven just now
      found.unread.push_back("'" + (folder / name).string() + "': " + record.error().message);
    }
  }
  return found;
}

Result<void> add_node_record(const fs::path& folder, const NodeRecord& record) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return unavailable(folder, error.message());
  const std::string name = node_file_name(record.time_unix_ms, std::random_device{}());
  auto written = write_whole(folder / name, to_json(record));
  if (written) remove_oldest(folder);
  return written;
}

Result<int> forgive_node(const fs::path& folder, const std::string& host) {
  const auto names = node_files(folder);
  if (!names) return names.error();
  int forgiven = 0;
  for (const std::string& name : *names) {
    const auto record = read_record(folder / name);
    if (!record || record->host != host) continue;
    std::error_code error;
    if (fs::remove(folder / name, error)) ++forgiven;
    if (error) return unavailable(folder / name, error.message());
  }
  return forgiven;
}

}  // namespace ddprun
