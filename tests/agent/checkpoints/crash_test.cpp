// A machine that stops while a snapshot is written to disk: whenever it does, the next start finds
// the snapshot before or the new one, and can write another.
#include <functional>
#include <utility>

#include "tests/agent/checkpoints/tier_fixture.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

/// One step of DiskTier::write(), in a folder.
using Step = std::function<void(const fs::path& disk)>;

class CrashFixture : public TierFixture {
 protected:
  /// Files are written beside the old ones, and the list after them.
  void stage(const Snapshot& old, const Snapshot& fresh) {
    steps_.push_back([](const fs::path& disk) { fs::create_directories(disk / ".ddprun/new"); });
    for (std::size_t at = 0; at < fresh.files.size(); ++at) {
      const KeptFile& file = fresh.files[at];
      const KeptFile* const before = find_file(old, file.facts.path);
      const bool is_file = file.facts.kind == FileFacts::Kind::kFile;
      if (!is_file || (before != nullptr && before->digest == file.digest)) continue;
      steps_.push_back([at, from = kept(fresh, file.facts.path), facts = file.facts](auto& disk) {
        const fs::path to = disk / ".ddprun/new" / std::to_string(at);
        fs::copy_file(from, to);
        give_facts(to, facts);
      });
      moved_[file.facts.path] = at;
    }
    steps_.push_back([text = to_text(fresh)](const fs::path& disk) {
      std::ofstream{disk / ".ddprun/new.json"} << text;
    });
  }

  /// What is old goes, what is new comes to its place.
  void move(const Snapshot& old, const Snapshot& fresh) {
    for (auto file = old.files.rbegin(); file != old.files.rend(); ++file) {
      const KeptFile* const now = find_file(fresh, file->facts.path);
      if (now == nullptr || now->facts.kind != file->facts.kind)
        steps_.push_back([path = file->facts.path](auto& disk) { fs::remove(disk / path); });
    }
    for (const KeptFile& file : fresh.files) {
      const FileFacts& facts = file.facts;
      if (facts.kind == FileFacts::Kind::kFolder)
        steps_.push_back([facts](auto& disk) { fs::create_directory(disk / facts.path); });
      else if (facts.kind == FileFacts::Kind::kLink)
        steps_.push_back([facts](auto& disk) {
          const fs::path beside = disk / (facts.path + kFreshEnding);
          fs::create_symlink(facts.target, beside);
          fs::rename(beside, disk / facts.path);
        });
      else if (moved_.contains(facts.path))
        steps_.push_back([path = facts.path, at = moved_[facts.path]](auto& disk) {
          fs::rename(disk / ".ddprun/new" / std::to_string(at), disk / path);
        });
    }
  }

  /// The list takes the place of the old one, and what is not needed any more goes.
  void end(const fs::path& after) {
    steps_.push_back([after](const fs::path& disk) {
      fs::copy_file(after / ".ddprun/files.json", disk / ".ddprun/files.json",
                    fs::copy_options::overwrite_existing);
    });
    steps_.push_back([](const fs::path& disk) { fs::remove(disk / ".ddprun/new.json"); });
    steps_.push_back([](const fs::path& disk) { fs::remove_all(disk / ".ddprun/new"); });
  }

  /// The state of the disk after that many steps.
  fs::path stopped_after(std::size_t count) const {
    fs::path disk = scratch_ / ("stopped-" + std::to_string(count));
    copy_tree(scratch_ / "before", disk);
    for (std::size_t i = 0; i < count; ++i) steps_[i](disk);
    return disk;
  }

  /// Writes one after the other, and stops the second one at each step.
  void check_each_stop(const Tree& one, const Tree& two, const Tree& three) {
    make(one);
    const Snapshot first = take();
    write_to_disk(first);
    REQUIRE(tree_on_disk() == one);
    copy_tree(disk_.folder(), scratch_ / "before");
    make(two);
    const Snapshot second = take(first);
    write_to_disk(second);
    REQUIRE(tree_on_disk() == two);
    stage(first, second);
    const std::size_t listed = steps_.size();
    move(first, second);
    end(disk_.folder());
    make(three);
    const Snapshot third = take(second);

    for (std::size_t count = 0; count <= steps_.size(); ++count) {
      INFO("stopped after " << count << " of " << steps_.size() << " steps; the list is step "
                            << listed);
      const fs::path stopped = stopped_after(count);
      DiskTier disk{stopped};
      const auto found = disk.open();
      REQUIRE(found.has_value());
      REQUIRE(tree_of(stopped) == (count < listed ? one : two));
      check_list(*found, count < listed ? first : second);
      const auto again = DiskTier{stopped}.open();
      REQUIRE(again.has_value());
      check_list(*again, count < listed ? first : second);
      const auto written = disk.write(third, memory_->files_of(third), memory_->folder(), pace_);
      REQUIRE(written.has_value());
      REQUIRE(tree_of(stopped) == three);
      fs::remove_all(stopped);
    }
  }

  void check_list(const Snapshot& found, const Snapshot& expected) const {
    REQUIRE(found.number == expected.number);
    REQUIRE(found.files.size() == expected.files.size());
    for (std::size_t i = 0; i < found.files.size(); ++i) {
      REQUIRE(found.files[i].facts.path == expected.files[i].facts.path);
      REQUIRE(found.files[i].digest == expected.files[i].digest);
    }
  }

  std::vector<Step> steps_;
  std::map<std::string, std::size_t> moved_;
};

TEST_CASE_METHOD(CrashFixture, "wherever a write to disk stops, one whole snapshot is there") {
  const Tree one{{"checkpoint-1", "/"},
                 {"checkpoint-1/w.pt", "w1"},
                 {"last", "-> checkpoint-1"},
                 {"model.pt", "one"},
                 {"same.json", "{}"}};
  const Tree two{{"checkpoint-2", "/"},
                 {"checkpoint-2/w.pt", "w2"},
                 {"last", "-> checkpoint-2"},
                 {"model.pt", "two"},
                 {"same.json", "{}"}};
  const Tree three{{"checkpoint-2", "/"}, {"checkpoint-2/w.pt", "w2"}, {"model.pt", "three"}};
  check_each_stop(one, two, three);
}

TEST_CASE_METHOD(CrashFixture, "wherever it stops, files may become folders, and links files") {
  const Tree one{{"a", "/"},    {"a/b", "one"}, {"c", "one"},  {"d", "-> c"},
                 {"e", "-> c"}, {"f", "/"},     {"f/g", "/"},  {"f/g/h", "one"},
                 {"i", "one"},  {"j", "/"},     {"j/k", "one"}};
  const Tree two{{"a", "two"},  {"c", "/"},     {"c/x", "two"}, {"d", "two"},
                 {"e", "/"},    {"e/y", "two"}, {"f", "/"},     {"f/g", "two"},
                 {"i", "-> a"}, {"j", "-> l"},  {"l", "/"},     {"l/k", "two"}};
  check_each_stop(one, two, one);
}

TEST_CASE_METHOD(CrashFixture, "the first snapshot of all is there or not, too") {
  check_each_stop({}, {{"a", "/"}, {"a/b", "two"}, {"l", "-> a"}}, {});
}

TEST_CASE_METHOD(CrashFixture, "wherever it stops, whatever the snapshots have in them") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    simulation::Random random{seed};
    Tree one, two, three;
    for (Tree* tree : {&one, &two, &three}) grow_tree(random, *tree, "", 3);
    check_each_stop(one, two, three);
    for (const char* used : {"before", "disk"}) fs::remove_all(scratch_ / used);
    steps_.clear();
    moved_.clear();
    disk_ = DiskTier{scratch_ / "disk"};
    REQUIRE(disk_.open().has_value());
  }
}

}  // namespace
}  // namespace ddprun
