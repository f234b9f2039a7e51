// The parts of several nodes on one disk: written beside what is there, and moved as one snapshot.
#include <functional>

#include "agent/checkpoints/checkpoint_parts.hpp"
#include "tests/agent/checkpoints/tier_fixture.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class DiskPartsFixture : public TierFixture {
 protected:
  /// What the workers of a node have saved in its own folder, as its part of that number.
  Snapshot part_of(int node, int number, const Tree& tree, int parts = 2) {
    const fs::path folder = folder_of(node);
    fs::remove_all(folder);
    for (const auto& [path, text] : tree) {
      fs::create_directories((folder / path).parent_path());
      std::ofstream{folder / path} << text;
    }
    fs::create_directories(folder);
    const auto listed = list_folder(folder);
    REQUIRE(listed.has_value());
    Snapshot part{.number = number, .taken_unix_ms = 1'000 + number, .part = node, .parts = parts};
    for (const FileFacts& facts : *listed) {
      KeptFile& file = part.files.emplace_back(KeptFile{.facts = facts, .since = number});
      if (facts.kind == FileFacts::Kind::kFile)
        file.digest = *digest_of(folder / facts.path, pace_);
    }
    return part;
  }
  fs::path folder_of(int node) const { return scratch_ / ("node-" + std::to_string(node)); }
  void stage(DiskTier& disk, const Snapshot& part) {
    REQUIRE(disk.stage(part, folder_of(part.part), folder_of(part.part), pace_).has_value());
  }
  /// Both nodes save these, and it is on disk.
  void write_both(int number, const Tree& a, const Tree& b) {
    stage(disk_, part_of(0, number, a));
    stage(other_, part_of(1, number, b));
    REQUIRE(disk_.move(number, 2).has_value());
    REQUIRE(other_.read(number).has_value());
  }
  fs::path own(const std::string& name) const { return disk_.folder() / ".ddprun" / name; }

  DiskTier other_{disk_.folder()};  // another node has it
};

TEST_CASE_METHOD(DiskPartsFixture, "the parts of two nodes become one folder on disk") {
  stage(disk_, part_of(0, 1, {{"a.pt", "a"}, {"x/0.pt", "0"}}));
  stage(other_, part_of(1, 1, {{"b.pt", "b"}, {"x/1.pt", "1"}}));
  CHECK(tree_on_disk().empty());
  const auto moved = disk_.move(1, 2);
  REQUIRE(moved.has_value());
  CHECK(moved->number == 1);
  CHECK(tree_on_disk() ==
        Tree{{"a.pt", "a"}, {"b.pt", "b"}, {"x", "/"}, {"x/0.pt", "0"}, {"x/1.pt", "1"}});
  CHECK_FALSE(fs::exists(own("parts")));
  const auto read = other_.read(1);
  REQUIRE(read.has_value());
  CHECK(read->files.size() == 5);
  CHECK(find_file(*read, "b.pt")->facts == *facts_of(disk_.folder(), "b.pt"));
}

TEST_CASE_METHOD(DiskPartsFixture, "the next checkpoint takes the place of the one before") {
  write_both(1, {{"a.pt", "a"}, {"same.pt", "same"}}, {{"b.pt", "b"}});
  const auto same = facts_of(disk_.folder(), "same.pt");
  write_both(2, {{"a.pt", "a2"}, {"same.pt", "same"}}, {{"c.pt", "c"}});
  CHECK(tree_on_disk() == Tree{{"a.pt", "a2"}, {"c.pt", "c"}, {"same.pt", "same"}});
  write_both(3, {{"a.pt", "a2"}}, {});
  CHECK(tree_on_disk() == Tree{{"a.pt", "a2"}});
}

TEST_CASE_METHOD(DiskPartsFixture, "nothing is moved while a part is not there") {
  write_both(1, {{"a.pt", "a"}}, {{"b.pt", "b"}});
  stage(disk_, part_of(0, 2, {{"a.pt", "a2"}}));
  SECTION("at all") {}
  SECTION("of this number") { stage(other_, part_of(1, 1, {{"b.pt", "b"}})); }
  SECTION("of a checkpoint of as many nodes") { stage(other_, part_of(1, 2, {{"b.pt", "b2"}}, 3)); }
  SECTION("as a whole") {
    stage(other_, part_of(1, 2, {{"b.pt", "b2"}}));
    fs::resize_file(own("parts/1.json"), 20);
  }
  SECTION("with all its files") {
    stage(other_, part_of(1, 2, {{"b.pt", "b2"}}));
    fs::remove(own("parts/1/0"));
  }
  const auto moved = disk_.move(2, 2);
  REQUIRE(moved.has_error());
  CHECK(moved.error().kind == Error::Kind::kUnavailable);
  CHECK(tree_on_disk() == Tree{{"a.pt", "a"}, {"b.pt", "b"}});
  write_both(3, {{"a.pt", "a3"}}, {{"b.pt", "b3"}});
  CHECK(tree_on_disk() == Tree{{"a.pt", "a3"}, {"b.pt", "b3"}});
}

TEST_CASE_METHOD(DiskPartsFixture, "a checkpoint that is there already is moved once") {
  write_both(1, {{"a.pt", "a"}}, {{"b.pt", "b"}});
  CHECK(disk_.move(1, 2).has_value());
  CHECK(other_.move(1, 2).has_value());
  CHECK(tree_on_disk() == Tree{{"a.pt", "a"}, {"b.pt", "b"}});
}

TEST_CASE_METHOD(DiskPartsFixture,
                 "an older checkpoint does not replace what others have written") {
  write_both(1, {{"a.pt", "a"}}, {{"b.pt", "b"}});
  const Snapshot old = part_of(0, 2, {{"a.pt", "a2"}}, 1);
  stage(disk_, part_of(0, 3, {{"a.pt", "a3"}}));
  stage(disk_, part_of(1, 3, {{"b.pt", "b3"}}));
  REQUIRE(disk_.move(3, 2).has_value());
  part_of(0, 2, {{"a.pt", "a2"}}, 1);
  stage(other_, old);
  const auto moved = other_.move(2, 1);  // it has not heard of the third
  REQUIRE(moved.has_value());
  CHECK(moved->number == 3);
  CHECK(tree_on_disk() == Tree{{"a.pt", "a3"}, {"b.pt", "b3"}});
  CHECK_FALSE(fs::exists(own("parts")));
}

TEST_CASE_METHOD(DiskPartsFixture, "the list of what is seen is there for other nodes") {
  std::ofstream{disk_.folder() / "theirs.pt"} << "theirs";
  const auto seen = disk_.see();
  REQUIRE(seen.has_value());
  const auto read = other_.read(0);
  REQUIRE(read.has_value());
  REQUIRE(read->files.size() == 1);
  CHECK(read->files[0].digest.empty());
}

TEST_CASE_METHOD(DiskPartsFixture, "parts that were left are taken when they are whole and newer") {
  write_both(2, {{"a.pt", "a"}}, {{"b.pt", "b"}});
  Tree expected{{"a.pt", "a"}, {"b.pt", "b"}};
  int number = 2;
  SECTION("as those of a later one") {
    stage(disk_, part_of(0, 3, {{"a.pt", "a3"}}));
    stage(other_, part_of(1, 3, {{"b.pt", "b3"}}));
    expected = {{"a.pt", "a3"}, {"b.pt", "b3"}};
    number = 3;
  }
  SECTION("but not where one is missing") { stage(disk_, part_of(0, 3, {{"a.pt", "a3"}})); }
  SECTION("but not those of an earlier one") {
    stage(disk_, part_of(0, 1, {{"a.pt", "a1"}}));
    stage(other_, part_of(1, 1, {{"b.pt", "b1"}}));
  }
  const auto found = DiskTier{disk_.folder()}.open();
  REQUIRE(found.has_value());
  CHECK(found->number == number);
  CHECK(tree_on_disk() == expected);
  CHECK_FALSE(fs::exists(own("parts")));
}

class StoppedMoveFixture : public DiskPartsFixture {
 protected:
  /// Stops a move after each of the files that it takes out of the parts, and has it ended.
  void check_each_stop(const std::function<void(DiskTier&)>& go_on) {
    const Tree fresh{{"a.pt", "a2"}, {"b.pt", "b2"}, {"c.pt", "c2"}, {"same.pt", "same"}};
    write_both(1, {{"a.pt", "a"}, {"same.pt", "same"}}, {{"b.pt", "b"}});
    const std::vector<Snapshot> parts{part_of(0, 2, {{"a.pt", "a2"}, {"same.pt", "same"}}),
                                      part_of(1, 2, {{"b.pt", "b2"}, {"c.pt", "c2"}})};
    for (const Snapshot& part : parts) stage(disk_, part);
    const Merged whole = merge_parts(parts);
    const fs::path stopped = scratch_ / "stopped";
    for (std::size_t moved = 0; moved <= whole.files.size(); ++moved) {
      INFO("stopped after " << moved << " files");
      copy_tree(disk_.folder(), stopped);
      fs::create_directory(stopped / ".ddprun/new");
      for (std::size_t at = 0; at < moved; ++at) take(whole.files[at], at, stopped / ".ddprun");
      DiskTier disk{stopped};
      go_on(disk);
      CHECK(tree_of(stopped) == fresh);
      fs::remove_all(stopped);
    }
  }
  static void take(const MergedFile& file, std::size_t at, const fs::path& own) {
    const fs::path staged = own / "parts" / std::to_string(file.part) / std::to_string(file.place);
    if (fs::exists(staged)) fs::rename(staged, own / "new" / std::to_string(at));
  }
};

TEST_CASE_METHOD(StoppedMoveFixture, "wherever a move stops, the next job goes on with it") {
  check_each_stop([](DiskTier& disk) {
    const auto found = disk.open();
    REQUIRE(found.has_value());
    CHECK(found->number == 2);
  });
}

TEST_CASE_METHOD(StoppedMoveFixture, "wherever a move stops, another node can end it") {
  check_each_stop([](DiskTier& disk) {
    REQUIRE(disk.read(1).has_value());
    CHECK(disk.move(2, 2).has_value());
  });
}

TEST_CASE_METHOD(DiskPartsFixture,
                 "files that another write has left are not taken for staged ones") {
  write_both(1, {{"a.pt", "a"}, {"same.pt", "same"}}, {{"b.pt", "b"}});
  for (const char* at : {"0", "1", "2"}) {
    fs::create_directories(own("new"));
    std::ofstream{own("new") / at} << "half";
  }
  write_both(2, {{"a.pt", "a2"}, {"same.pt", "same"}}, {{"b.pt", "b"}});
  CHECK(tree_on_disk() == Tree{{"a.pt", "a2"}, {"b.pt", "b"}, {"same.pt", "same"}});
}

}  // namespace
}  // namespace ddprun
