// Words for tests of checkpoints: what is in a folder, and what a snapshot says of it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/checkpoints/snapshot.hpp"
#include "tests/support/file_text.hpp"

namespace ddprun {

inline FileFacts a_file(std::string path, std::int64_t inode = 7, std::int64_t bytes = 100) {
  return {.path = std::move(path),
          .bytes = bytes,
          .modified_ns = 1'790'000'000'000'000'005,
          .inode = inode,
          .mode = 0644};
}

inline FileFacts a_folder(std::string path) {
  return {.path = std::move(path), .kind = FileFacts::Kind::kFolder, .mode = 0755};
}

inline FileFacts a_link(std::string path, std::string target) {
  return {.path = std::move(path),
          .kind = FileFacts::Kind::kLink,
          .mode = 0777,
          .target = std::move(target)};
}

/// By path, as list_folder() tells it.
inline FolderState folder_with(FolderState state) {
  std::ranges::sort(state, {}, &FileFacts::path);
  return state;
}

/// The snapshot of a folder, as if all of it were new.
inline Snapshot snapshot_of(int number, FolderState state) {
  Snapshot snapshot{.number = number, .taken_unix_ms = 1'790'000'000'000 + number};
  for (FileFacts& facts : folder_with(std::move(state))) {
    const bool has_bytes = facts.kind == FileFacts::Kind::kFile;
    snapshot.files.push_back({.facts = std::move(facts),
                              .digest = has_bytes ? "d" + std::to_string(number) : "",
                              .since = number});
  }
  return snapshot;
}

inline KeptFile& file_of(Snapshot& snapshot, const std::string& path) {
  return *std::ranges::find(snapshot.files, path, [](const KeptFile& f) { return f.facts.path; });
}

/// All that is in a real folder: texts of files, targets of links. What ddprun has there for itself
/// is left out.
inline std::map<std::string, std::string> tree_of(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> tree;
  for (auto at = fs::recursive_directory_iterator{folder}; at != fs::recursive_directory_iterator{};
       ++at) {
    const std::string path = at->path().lexically_relative(folder).string();
    if (path == ".ddprun")
      at.disable_recursion_pending();
    else if (at->is_symlink())
      tree[path] = "-> " + fs::read_symlink(at->path()).string();
    else
      tree[path] = at->is_directory() ? "/" : at->is_regular_file() ? content(at->path()) : "?";
  }
  return tree;
}

/// Flips a bit of a file, of which nothing else tells: its time stays.
inline void flip_bit(const std::filesystem::path& file, std::size_t at) {
  struct stat what {};
  ::stat(file.c_str(), &what);
  std::fstream bytes{file, std::ios::in | std::ios::out | std::ios::binary};
  bytes.seekg(static_cast<std::streamoff>(at));
  const int byte = bytes.get();
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes.put(static_cast<char>(byte ^ 1));
  bytes.close();
  const timespec times[2] = {what.st_atim, what.st_mtim};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
}

}  // namespace ddprun
