// What the name of a file in a shard says: which sample it is part of, and as what.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddprun::sdk {

struct EntryName {
  std::string key;    // the folder, and the file's name up to its first dot
  std::string field;  // the part behind that dot, in lower case
  bool operator==(const EntryName&) const = default;
};

/// Nullopt for what belongs to no sample: names without a dot, or with nothing before it, and
/// WebDataset's own, whose first part begins and ends with two underscores. The rules are those of
/// base_plus_ext() and tar_file_iterator() in
/// https://github.com/webdataset/webdataset/blob/main/src/webdataset/tariterators.py, but for names
/// that begin with a dot: there these are samples of their folder.
std::optional<EntryName> split_entry_name(std::string_view path);

}  // namespace ddprun::sdk
