#include "agent/checkpoints/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fields {

// clang-format off
template <> inline constexpr auto kNames<FileFacts::Kind> = std::to_array<Named>({
    {FileFacts::Kind::kFile, "file"}, {FileFacts::Kind::kFolder, "folder"},
    {FileFacts::Kind::kLink, "link"}});
template <> inline constexpr auto kFields<FileFacts> = table(
    uncut<&FileFacts::path>("path"), field<&FileFacts::kind>("kind"),
    some<&FileFacts::bytes>("bytes"), field<&FileFacts::modified_ns>("modified_ns"),
    field<&FileFacts::inode>("inode"), field<&FileFacts::mode>("mode"),
    some<&FileFacts::target>("target"), some<&FileFacts::on_disk>("on_disk"));
template <> inline constexpr auto kFields<KeptFile> = table(
    inlined<&KeptFile::facts>(), some<&KeptFile::digest>("xxh3_128"),
    field<&KeptFile::since>("since"), some<&KeptFile::copied>("copied"));
template <> inline constexpr auto kFields<Snapshot> = table(
    field<&Snapshot::number>("number"), field<&Snapshot::taken_unix_ms>("taken_unix_ms"),
    uncut<&Snapshot::files>("files"), some<&Snapshot::part>("part"),
    some<&Snapshot::parts>("parts"), some<&Snapshot::base>("base"),
    some<&Snapshot::counts>("counts"), some<&Snapshot::copy>("copy"));
// clang-format on

}  // namespace fields

namespace {

constexpr std::string_view kLogFolder = "wandb";

std::string_view name_in(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view entry_of(std::string_view path) { return path.substr(0, path.find('/')); }

/// The facts by which one can tell that a file is as it was. A folder changes with what is in it.
bool is_same(const FileFacts& now, const FileFacts& then) {
  if (now.kind == FileFacts::Kind::kFile || now.kind != then.kind) return now == then;
  return now.target == then.target && now.mode == then.mode;
}

/// A path that stays within the folder, spelled as list_folder() does it: two spellings of one path
/// would be two files.
bool is_inner(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find("//") != std::string::npos) return false;
  if (plain_line(path) != path) return false;
  const std::filesystem::path parts{path};
  return std::ranges::none_of(
      parts, [](const auto& part) { return part == ".." || part == "." || part.empty(); });
}

/// Which shapes names in a folder have, and how many have each.
std::map<std::string, int> shapes_in(const std::string& folder, const FolderState& state) {
  std::map<std::string, int> shapes;
  for (const FileFacts& file : state)
    if (file.path.starts_with(folder + "/") && !is_log(file.path))
      ++shapes[shape_of(file.path.substr(folder.size() + 1))];
  return shapes;
}

}  // namespace

bool is_part(const Snapshot& snapshot, int number, int part, int parts) {
  return snapshot.number == number && snapshot.part == part && snapshot.parts == parts;
}

const KeptFile* find_file(const Snapshot& snapshot, std::string_view path) {
  const auto at = std::ranges::lower_bound(
      snapshot.files, path, {},
      [](const KeptFile& file) -> std::string_view { return file.facts.path; });
  return at != snapshot.files.end() && at->facts.path == path ? &*at : nullptr;
}

std::vector<std::string> folders_above(const std::string& path) {
  std::vector<std::string> folders;
  for (std::size_t at = path.rfind('/'); at != std::string::npos && at > 0;
       at = path.rfind('/', at - 1))
    folders.push_back(path.substr(0, at));
  return folders;
}

std::string shape_of(std::string_view path) {
  std::string shape;
  for (const char c : path) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit || shape.empty() || shape.back() != '#') shape += digit ? '#' : c;
  }
  return shape;
}

bool is_left_out(const FileFacts& facts) {
  const std::string_view entry = entry_of(facts.path);
  if (entry == kLogFolder || entry == kOwnFolder) return true;
  return facts.kind != FileFacts::Kind::kFolder && is_log(facts.path);
}

bool is_log(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kEndings{".log", ".csv", ".jsonl"};
  const std::string_view name = name_in(path);
  return name.find("tfevents") != std::string_view::npos || entry_of(path) == kLogFolder ||
         std::ranges::any_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

bool is_unfinished(std::string_view path) {
  const auto is_so = [](std::string_view name) {
    return name.ends_with(".tmp") || name.ends_with(".part") || name.ends_with(".incomplete") ||
           name.starts_with(".tmp");
  };
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = path.find('/', at);
    if (is_so(path.substr(at, end - at))) return true;
    at = end == std::string_view::npos ? end : end + 1;
  }
  return false;
}

bool has_same_files(const FolderState& state, const Snapshot& snapshot) {
  std::size_t same = 0;
  for (const FileFacts& now : state) {
    if (is_left_out(now)) continue;
    const KeptFile* const then = find_file(snapshot, now.path);
    if (then == nullptr || !is_same(now, then->facts)) return false;
    ++same;
  }
  return same == snapshot.files.size();
}

std::string folder_with_less(const FolderState& state, const Snapshot& snapshot) {
  std::map<std::string, const KeptFile*> models;  // by shape: the newest folder of that kind
  FolderState before;
  for (const KeptFile& file : snapshot.files) {
    // What was there when the round began may be of other nodes.
    if (snapshot.parts > 0 && file.since <= snapshot.base) continue;
    before.push_back(file.facts);
    if (file.facts.kind != FileFacts::Kind::kFolder) continue;
    const KeptFile*& model = models[shape_of(file.facts.path)];
    if (model == nullptr || model->facts.modified_ns <= file.facts.modified_ns) model = &file;
  }
  for (const FileFacts& now : state) {
    const bool is_new =
        now.kind == FileFacts::Kind::kFolder && find_file(snapshot, now.path) == nullptr;
    const auto model = is_new ? models.find(shape_of(now.path)) : models.end();
    if (model == models.end()) continue;
    const auto shapes = shapes_in(now.path, state);
    const auto wanted = shapes_in(model->second->facts.path, before);
    const bool has_all = std::ranges::all_of(wanted, [&](const auto& kind) {
      const auto has = shapes.find(kind.first);
      return has != shapes.end() && has->second >= kind.second;
    });
    if (!has_all) return now.path;
  }
  return "";
}

std::vector<FileToKeep> plan_snapshot(const FolderState& state, const Snapshot& previous) {
  std::set<std::string> shapes;
  for (const KeptFile& file : previous.files) shapes.insert(shape_of(file.facts.path));
  const auto is_numbered_anew = [&](const std::string& path) {
    if (find_file(previous, path) != nullptr) return false;
    return shapes.contains(shape_of(path));
  };
  std::vector<FileToKeep> plan;
  for (const FileFacts& now : state) {
    if (is_left_out(now)) continue;
    const KeptFile* const then = find_file(previous, now.path);
    FileToKeep& file = plan.emplace_back(FileToKeep{.facts = now});
    if (then != nullptr && is_same(now, then->facts))
      file.how = FileToKeep::How::kAsBefore;
    else if (is_numbered_anew(now.path))
      file.how = FileToKeep::How::kLink;
  }
  return plan;
}

std::int64_t new_bytes(const Snapshot& snapshot) {
  std::int64_t bytes = 0;
  for (const KeptFile& file : snapshot.files)
    if (file.since == snapshot.number) bytes += file.facts.bytes;
  return bytes;
}

std::string title_of(const Snapshot& snapshot) {
  const KeptFile* newest = nullptr;
  const auto rank = [](const KeptFile& file) {  // hidden files are no checkpoints
    return std::tuple{!file.facts.path.starts_with('.'), file.since, file.facts.modified_ns};
  };
  for (const KeptFile& file : snapshot.files)
    if (file.facts.kind == FileFacts::Kind::kFile &&
        (newest == nullptr || rank(file) > rank(*newest)))
      newest = &file;
  return newest == nullptr ? "" : std::string{entry_of(newest->facts.path)};
}

std::string to_text(const Snapshot& snapshot) {
  return fields::to_text(snapshot, JsonStyle::kIndented);
}

Result<Snapshot> read_snapshot(std::string_view text) try {
  auto snapshot = fields::from_text<Snapshot>(text, "the list of files");
  std::ranges::sort(snapshot.files, {}, [](const KeptFile& file) { return file.facts.path; });
  std::set<std::string_view> paths;
  for (const KeptFile& file : snapshot.files)
    if (!is_inner(file.facts.path) || !paths.insert(file.facts.path).second)
      return invalid("the list of files has the path " + printable(file.facts.path));
  return snapshot;
} catch (const fields::Unfit& unfit) {
  return invalid(unfit.what());
}

}  // namespace ddprun
