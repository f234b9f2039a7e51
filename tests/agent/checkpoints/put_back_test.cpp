#include "agent/checkpoints/put_back.hpp"

#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/simulation/random.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Kind = FileFacts::Kind;

/// The plan as lines, in its order.
std::vector<std::string> steps(const FolderState& now, const Snapshot& snapshot) {
  const PutBack plan = plan_put_back(folder_with(now), snapshot);
  std::vector<std::string> lines;
  for (const std::string& path : plan.removed) lines.push_back("remove " + path);
  for (const KeptFile* file : plan.made) lines.push_back("make " + file->facts.path);
  for (const KeptFile* file : plan.placed) lines.push_back("place " + file->facts.path);
  for (const KeptFile* file : plan.stay) lines.push_back("check " + file->facts.path);
  return lines;
}

using Steps = std::vector<std::string>;

TEST_CASE("a folder that is as the snapshot has it stays") {
  const FolderState state{a_folder("c"), a_file("c/w.pt"), a_link("last", "c")};
  CHECK(steps(state, snapshot_of(1, state)) == Steps{"check c/w.pt"});
  CHECK(steps({}, {}).empty());
}

TEST_CASE("an empty folder is filled from above") {
  const Snapshot snapshot = snapshot_of(
      1, {a_folder("a"), a_folder("a/b"), a_file("a/b/w.pt"), a_link("last", "a"), a_file("x")});
  CHECK(steps({}, snapshot) ==
        Steps{"make a", "make a/b", "place a/b/w.pt", "place last", "place x"});
}

TEST_CASE("a folder is emptied from below, but for logs and the folders that they are in") {
  const FolderState state{a_folder("a"),      a_folder("a/b"),      a_file("a/b/w.pt"),
                          a_folder("c"),      a_folder("c/d"),      a_file("c/d/x.log"),
                          a_file("c/d/w.pt"), a_folder("c/e"),      a_file("train.log"),
                          a_folder("wandb"),  a_folder("wandb/run")};
  CHECK(steps(state, {}) ==
        Steps{"remove c/e", "remove c/d/w.pt", "remove a/b/w.pt", "remove a/b", "remove a"});
}

TEST_CASE("a file that looks otherwise is placed, one that looks the same is checked") {
  const Snapshot snapshot = snapshot_of(1, {a_file("a", 1), a_file("b", 2), a_link("l", "a")});
  CHECK(steps({a_file("a", 9), a_file("b", 2), a_link("l", "b")}, snapshot) ==
        Steps{"place a", "place l", "check b"});
}

TEST_CASE("a folder with other times and permissions stays") {
  FolderState state{a_folder("a")};
  const Snapshot snapshot = snapshot_of(1, state);
  state[0].modified_ns = 5;
  state[0].mode = 0700;
  CHECK(steps(state, snapshot).empty());
}

TEST_CASE("what is of another kind makes place") {
  const Snapshot folder = snapshot_of(1, {a_folder("x"), a_file("x/y")});
  CHECK(steps({a_file("x")}, folder) == Steps{"remove x", "make x", "place x/y"});
  CHECK(steps({a_link("x", "z")}, folder) == Steps{"remove x", "make x", "place x/y"});
  const FolderState two{a_folder("x"), a_file("x/y"), a_file("x-1")};
  CHECK(steps(two, snapshot_of(1, {a_file("x")})) ==
        Steps{"remove x/y", "remove x-1", "remove x", "place x"});
  // One file takes the place of another by itself, at once.
  CHECK(steps({a_link("x", "z")}, snapshot_of(1, {a_file("x")})) == Steps{"place x"});
  CHECK(steps({a_file("x")}, snapshot_of(1, {a_link("x", "z")})) == Steps{"place x"});
  FileFacts on_disk = a_file("x");
  on_disk.on_disk = true;
  CHECK(steps({on_disk}, snapshot_of(1, {a_file("x")})) == Steps{"place x"});
}

TEST_CASE("a file of the snapshot takes the place of a folder with logs") {
  CHECK(steps({a_folder("x"), a_folder("x/y"), a_file("x/y/train.log"), a_file("z.log")},
              snapshot_of(1, {a_file("x")})) ==
        Steps{"remove x/y/train.log", "remove x/y", "remove x", "place x"});
}

TEST_CASE("a folder of the snapshot takes the place of a log with its name") {
  CHECK(steps({a_file("run.log")}, snapshot_of(1, {a_folder("run.log"), a_file("run.log/w.pt")})) ==
        Steps{"make run.log", "place run.log/w.pt"});
}

// --- any folder, any snapshot ---

/// A folder's files, on which a plan is carried out as the file system would do it.
class FolderModel {
 public:
  explicit FolderModel(const FolderState& state) {
    for (const FileFacts& facts : state) files_[facts.path] = facts;
  }

  /// Returns what went wrong; "" when nothing did.
  std::string carry_out(const PutBack& plan) {
    for (const std::string& path : plan.removed)
      if (!files_.contains(path) || has_entries(path) || files_.erase(path) == 0)
        return path + " cannot be removed";
    for (const KeptFile* file : plan.made)
      if (!put(file->facts, "made")) return complaint_;
    for (const KeptFile* file : plan.placed)
      if (!put(file->facts, "placed")) return complaint_;
    for (const KeptFile* file : plan.stay)
      if (!files_.contains(file->facts.path) || files_[file->facts.path] != file->facts)
        return file->facts.path + " is not as it was";
    return "";
  }

  const std::map<std::string, FileFacts>& files() const { return files_; }

 private:
  bool has_entries(const std::string& path) const {
    const auto next = files_.lower_bound(path + "/");
    return next != files_.end() && next->first.starts_with(path + "/");
  }
  bool is_folder(const std::string& path) const {
    const auto at = files_.find(path);
    return at != files_.end() && at->second.kind == Kind::kFolder;
  }
  bool put(const FileFacts& facts, const std::string& how) {
    const std::size_t slash = facts.path.rfind('/');
    if (slash != std::string::npos && !is_folder(facts.path.substr(0, slash)))
      complaint_ = facts.path + " cannot be " + how + ": it has no parent";
    else if (is_folder(facts.path))
      complaint_ = facts.path + " cannot be " + how + ": there is a folder";
    else
      files_[facts.path] = facts;
    return complaint_.empty();
  }

  std::map<std::string, FileFacts> files_;
  std::string complaint_;
};

class AnyFolder {
 public:
  explicit AnyFolder(std::uint64_t seed) : random_{seed} {}

  FolderState state() {
    FolderState state;
    grow(state, "", 3);
    return folder_with(std::move(state));
  }

 private:
  void grow(FolderState& state, const std::string& above, int levels) {
    for (const char* name : {"a", "a-b", "b", "n.log", "checkpoint-1", "wandb"}) {
      if (random_.chance(55)) continue;
      const std::string path = above + name;
      const int kind = random_.number(0, levels > 1 ? 4 : 2);
      if (kind >= 3) {
        state.push_back(a_folder(path));
        grow(state, path + "/", levels - 1);
      } else if (kind == 2) {
        state.push_back(a_link(path, random_.chance(50) ? "a" : "b"));
      } else {
        state.push_back(a_file(path, random_.number(1, 2)));
        state.back().on_disk = random_.chance(20);
      }
    }
  }

  simulation::Random random_;
};

Snapshot without_logs(FolderState state) {
  std::erase_if(state, is_left_out);
  return snapshot_of(1, std::move(state));
}

/// Whether there is room for a log: nothing of the snapshot is there, or above it as a file.
bool may_stay(const std::string& log, const Snapshot& snapshot) {
  if (find_file(snapshot, log) != nullptr) return false;
  for (std::size_t at = log.find('/'); at != std::string::npos; at = log.find('/', at + 1)) {
    const KeptFile* const above = find_file(snapshot, log.substr(0, at));
    if (above != nullptr && above->facts.kind != Kind::kFolder) return false;
  }
  return true;
}

/// A snapshot with the logs that were there, and with the folders that they are in.
std::map<std::string, FileFacts> with_logs(const Snapshot& snapshot, const FolderState& before) {
  std::map<std::string, FileFacts> files;
  for (const KeptFile& file : snapshot.files) files[file.facts.path] = file.facts;
  for (const FileFacts& log : before) {
    if (!is_left_out(log) || !may_stay(log.path, snapshot)) continue;
    files[log.path] = log;
    for (std::size_t at = log.path.find('/'); at != std::string::npos;
         at = log.path.find('/', at + 1)) {
      const std::string above = log.path.substr(0, at);
      files.emplace(above, *std::ranges::find(before, above, &FileFacts::path));
    }
  }
  return files;
}

/// What can be put back of a file's facts, and is compared: a folder's times do not count.
std::string put_back_of(const FileFacts& facts) {
  const std::string of_file = std::to_string(facts.inode) + (facts.on_disk ? " on disk" : "");
  return facts.kind == Kind::kFolder ? "/" : facts.kind == Kind::kLink ? facts.target : of_file;
}

TEST_CASE("any folder becomes what any snapshot was, with its logs") {
  for (std::uint64_t seed = 1; seed <= 5'000; ++seed) {
    AnyFolder any{seed};
    const FolderState before = any.state();
    const Snapshot snapshot = without_logs(any.state());
    FolderModel folder{before};
    const std::string complaint = folder.carry_out(plan_put_back(before, snapshot));
    std::map<std::string, std::string> is, should_be;
    for (const auto& [path, facts] : folder.files()) is[path] = put_back_of(facts);
    for (const auto& [path, facts] : with_logs(snapshot, before))
      should_be[path] = put_back_of(facts);
    INFO("seed " << seed);
    REQUIRE(complaint.empty());
    REQUIRE(is == should_be);
  }
}

TEST_CASE("a folder that has been put back needs nothing more") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    AnyFolder any{seed};
    const FolderState before = any.state();
    const Snapshot snapshot = without_logs(any.state());
    FolderModel folder{before};
    if (!folder.carry_out(plan_put_back(before, snapshot)).empty()) continue;
    FolderState after;
    for (const auto& [path, facts] : folder.files()) after.push_back(facts);
    const PutBack again = plan_put_back(after, snapshot);
    INFO("seed " << seed);
    REQUIRE((again.removed.empty() && again.made.empty() && again.placed.empty()));
  }
}

}  // namespace
}  // namespace ddprun
