// A program's folder in memory and its copy on disk, both in a folder of the test's own.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "agent/checkpoints/disk_tier.hpp"
#include "agent/checkpoints/memory_tier.hpp"
#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/simulation/random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {

/// What tree_of() returns.
using Tree = std::map<std::string, std::string>;

/// A few files, folders and links, which share their names.
inline void grow_tree(simulation::Random& random, Tree& tree, const std::string& above,
                      int levels) {
  for (const char* name : {"a", "b", "c"}) {
    const std::string path = above + name;
    const int kind = random.number(0, levels > 1 ? 6 : 4);
    if (kind > 4) {
      tree[path] = "/";
      grow_tree(random, tree, path + "/", levels - 1);
    } else if (kind == 4) {
      tree[path] = random.chance(50) ? "-> a" : "-> b";
    } else if (kind > 1) {
      tree[path] = random.chance(50) ? "one" : "two";
    }
  }
}

/// With the times of files, by which DiskTier knows them.
inline void copy_tree(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const auto& entry : fs::recursive_directory_iterator{from})
    if (!entry.is_symlink() && entry.is_regular_file())
      fs::last_write_time(to / entry.path().lexically_relative(from), entry.last_write_time());
}

class TierFixture {
 protected:
  /// In memory, where it costs nothing that files reach the disk.
  static std::filesystem::path parent() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }

  TierFixture() : disk_{scratch_ / "disk"} {
    pace_.hurry(true);
    std::filesystem::create_directory(root_);
    open_memory();
    REQUIRE(disk_.open().has_value());
  }

  void open_memory() {
    memory_.reset();
    auto opened = MemoryTier::open(root_, spec_of(disk_.folder()));
    REQUIRE(opened.has_value());
    memory_.emplace(std::move(*opened));
  }

  /// A job whose checkpoints are kept there.
  static CheckpointSpec spec_of(const std::filesystem::path& disk) {
    return {.folder = "/out", .disk = disk.string()};
  }
  /// A snapshot that is to be taken.
  static Snapshot numbered(int number) {
    Snapshot header;
    header.number = number;
    return header;
  }

  std::filesystem::path in_folder(const std::string& path) const {
    return memory_->folder() / path;
  }
  std::filesystem::path kept(const Snapshot& snapshot, const std::string& path) const {
    return memory_->files_of(snapshot) / path;
  }

  /// As a program writes a file: at its place, or beside it and renamed.
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(in_folder(path).parent_path());
    std::ofstream{in_folder(path), std::ios::binary} << text;
  }
  void write_anew(const std::string& path, const std::string& text) const {
    write(path + ".fresh", text);
    std::filesystem::rename(in_folder(path + ".fresh"), in_folder(path));
  }

  /// The program's folder as text, target of a link, or "/" say it.
  void make(const Tree& tree) const {
    namespace fs = std::filesystem;
    for (const auto& entry : fs::directory_iterator{memory_->folder()}) fs::remove_all(entry);
    for (const auto& [path, what] : tree) {
      if (what == "/")
        fs::create_directory(in_folder(path));
      else if (what.starts_with("-> "))
        fs::create_symlink(what.substr(3), in_folder(path));
      else
        std::ofstream{in_folder(path)} << what;
    }
  }

  FolderState listed() const {
    auto state = list_folder(memory_->folder(), disk_.folder());
    REQUIRE(state.has_value());
    return *state;
  }

  Snapshot take(const Snapshot& previous = {}) {
    auto taken = memory_->take(listed(), previous, numbered(previous.number + 1), pace_);
    REQUIRE(taken.has_value());
    REQUIRE(taken->has_value());
    return **taken;
  }

  PutBackResult put_back(const Snapshot& snapshot, int trusted_since = 0) {
    auto done = memory_->put_back(snapshot, trusted_since, pace_);
    REQUIRE(done.has_value());
    return *done;
  }

  Snapshot write_to_disk(const Snapshot& snapshot) {
    auto written = disk_.write(snapshot, memory_->files_of(snapshot), memory_->folder(), pace_);
    REQUIRE(written.has_value());
    return *written;
  }

  std::map<std::string, std::string> tree() const { return tree_of(memory_->folder()); }
  std::map<std::string, std::string> tree_on_disk() const { return tree_of(disk_.folder()); }

  ScratchFolder scratch_{parent()};
  const std::filesystem::path root_ = scratch_ / "memory";
  std::optional<MemoryTier> memory_;
  DiskTier disk_;
  Pace pace_;
};

}  // namespace ddprun
