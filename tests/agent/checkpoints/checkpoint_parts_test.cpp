// How one folder is made of the parts of several nodes.
#include "agent/checkpoints/checkpoint_parts.hpp"

#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Texts = std::vector<std::string>;

/// What a node has: these files are of its own saves, the others are as the round began with them.
Snapshot part_of(FolderState own, FolderState of_before = {}) {
  Snapshot part = snapshot_of(7, std::move(own));
  for (const KeptFile& file : snapshot_of(5, std::move(of_before)).files)
    part.files.push_back(file);
  std::ranges::sort(part.files, {}, [](const KeptFile& file) { return file.facts.path; });
  part.base = 5;
  return part;
}

/// Each file as PATH, its digest, and where its bytes are: the part, and the place there.
Texts merged(const std::vector<Snapshot>& parts) {
  const Merged whole = merge_parts(parts);
  REQUIRE(whole.files.size() == whole.snapshot.files.size());
  Texts texts;
  for (std::size_t at = 0; at < whole.files.size(); ++at) {
    const MergedFile& file = whole.files[at];
    CHECK(file.file.facts == whole.snapshot.files[at].facts);
    CHECK(file.file.facts == parts[static_cast<std::size_t>(file.part)].files[file.place].facts);
    texts.push_back(file.file.facts.path + " " + file.file.digest + " " +
                    std::to_string(file.part) + "/" + std::to_string(file.place));
  }
  return texts;
}

TEST_CASE("the whole has the files of all nodes") {
  CHECK(merged({part_of({a_file("a")}), part_of({a_file("b")}), part_of({a_file("c")})}) ==
        Texts{"a d7 0/0", "b d7 1/0", "c d7 2/0"});
  CHECK(merged({}).empty());
}

TEST_CASE("a file is that of the node that has saved it") {
  CHECK(merged({part_of({}, {a_file("a")}), part_of({a_file("a")})}) == Texts{"a d7 1/0"});
  CHECK(merged({part_of({a_file("a")}), part_of({}, {a_file("a")})}) == Texts{"a d7 0/0"});
}

TEST_CASE("a file that several nodes have saved is that of the first") {
  CHECK(merged({part_of({}), part_of({a_file("a")}), part_of({a_file("a")})}) == Texts{"a d7 1/0"});
}

TEST_CASE("a file that nobody has saved is there once") {
  CHECK(merged({part_of({}, {a_file("a")}), part_of({}, {a_file("a")})}) == Texts{"a d5 0/0"});
}

TEST_CASE("where one node has a file and another one a folder, the file stays") {
  CHECK(merged({part_of({a_file("x")}), part_of({a_folder("x"), a_file("x/b"), a_file("y")})}) ==
        Texts{"x d7 0/0", "y d7 1/2"});
  CHECK(merged({part_of({a_folder("x"), a_file("x/b")}), part_of({a_file("x-1")})}) ==
        Texts{"x  0/0", "x-1 d7 1/0", "x/b d7 0/1"});
}

TEST_CASE("nothing lies below a link, however names are sorted") {
  CHECK(merged({part_of({a_link("x", "y"), a_file("x-1")}),
                part_of({a_folder("x"), a_file("x/b")})}) == Texts{"x  0/0", "x-1 d7 0/1"});
}

TEST_CASE("the whole is as late as its last part") {
  Snapshot first = part_of({a_file("a")});
  Snapshot second = part_of({a_file("b")});
  first.taken_unix_ms = 9;
  second.taken_unix_ms = 8;
  const Snapshot whole = merge_parts({first, second}).snapshot;
  CHECK(whole.number == 7);
  CHECK(whole.taken_unix_ms == 9);
}

TEST_CASE("of a folder that was removed nothing else is named") {
  const Snapshot before = snapshot_of(
      1, {a_file("a"), a_folder("x"), a_file("x-1"), a_file("x/b"), a_folder("x/c"), a_file("y")});
  CHECK(removed_since(before, snapshot_of(2, {a_file("a"), a_file("new")})) ==
        Texts{"x", "x-1", "y"});
  CHECK(removed_since(before, before).empty());
  CHECK(removed_since({}, before).empty());
}

TEST_CASE("a file that was saved again is not removed where others have removed it") {
  KeptFile file{.facts = a_file("x/b"), .since = 6};
  CHECK(is_removed(file, 7, {"x"}));
  CHECK(is_removed(file, 7, {"y", "x/b"}));
  CHECK_FALSE(is_removed(file, 7, {"x/bb", "x/", "b", "x/b/c"}));
  CHECK_FALSE(is_removed(file, 7, {}));
  CHECK_FALSE(is_removed(file, 6, {"x"}));
}

TEST_CASE("what a node has in memory is not read from disk") {
  Snapshot there = snapshot_of(7, {a_file("a"), a_file("b"), a_file("c"), a_folder("x")});
  Snapshot own = snapshot_of(7, {a_file("a", 1), a_file("b", 2)});
  file_of(own, "b").digest = "other bytes";
  const Snapshot whole = put_together(there, own);
  REQUIRE(whole.files.size() == 4);
  CHECK(find_file(whole, "a")->facts.inode == 1);
  CHECK(find_file(whole, "b")->facts.inode == 7);
  CHECK(find_file(whole, "c")->facts.inode == 7);
  CHECK(whole.number == 7);
}

TEST_CASE("old files with a number stay on disk when all is put back") {
  Snapshot there = snapshot_of(7, {a_file("checkpoint-1/w.pt"), a_file("model.pt")});
  const Snapshot whole = put_together(there, {});
  CHECK(find_file(whole, "checkpoint-1/w.pt")->facts.on_disk);
  CHECK_FALSE(find_file(whole, "model.pt")->facts.on_disk);
}

}  // namespace
}  // namespace ddprun
