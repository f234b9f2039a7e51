#include "agent/checkpoints/disk_tier.hpp"

#include "tests/agent/checkpoints/tier_fixture.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class DiskTierFixture : public TierFixture {
 protected:
  Snapshot save_and_write(const Snapshot& previous = {}) {
    Snapshot snapshot = take(previous);
    write_to_disk(snapshot);
    return snapshot;
  }
  void put_on_disk(const std::string& path, const std::string& text) const {
    fs::create_directories((disk_.folder() / path).parent_path());
    std::ofstream{disk_.folder() / path} << text;
  }
  Snapshot reopened() const {
    DiskTier disk{disk_.folder()};
    auto found = disk.open();
    REQUIRE(found.has_value());
    return *found;
  }
  fs::path own(const std::string& name) const { return disk_.folder() / ".ddprun" / name; }
  std::vector<std::string> paths_with_digest(const Snapshot& snapshot) const {
    std::vector<std::string> paths;
    for (const KeptFile& file : snapshot.files)
      if (!file.digest.empty()) paths.push_back(file.facts.path);
    return paths;
  }
};

TEST_CASE_METHOD(DiskTierFixture, "a folder that is not there is made, with those above it") {
  DiskTier disk{scratch_ / "a/b/c"};
  const auto found = disk.open();
  REQUIRE(found.has_value());
  CHECK(found->number == 0);
  CHECK(found->files.empty());
  CHECK(found->taken_unix_ms == 0);
  CHECK(fs::is_directory(scratch_ / "a/b/c"));
}

TEST_CASE_METHOD(DiskTierFixture, "a folder that cannot be made is an error") {
  scratch_.write("file", "");
  DiskTier disk{scratch_ / "file/disk"};
  const auto found = disk.open();
  REQUIRE(found.has_error());
  CHECK(found.error().kind == Error::Kind::kUnavailable);
}

TEST_CASE_METHOD(DiskTierFixture, "the folder on disk looks as the program's own") {
  write("checkpoint-1/deep/w.pt", "weights");
  write("empty.pt", "");
  fs::create_directory(in_folder("nothing"));
  fs::create_directory_symlink("checkpoint-1", in_folder("last"));
  fs::permissions(in_folder("checkpoint-1/deep/w.pt"), fs::perms{0640});
  const Snapshot snapshot = save_and_write();
  CHECK(tree_on_disk() == tree());
  for (const FileFacts& facts : listed()) {
    const auto there = facts_of(disk_.folder(), facts.path);
    REQUIRE(there.has_value());
    CHECK(there->mode == facts.mode);
    if (facts.kind != FileFacts::Kind::kLink) CHECK(there->modified_ns == facts.modified_ns);
  }
  CHECK_FALSE(fs::exists(own("new.json")));
  CHECK_FALSE(fs::exists(own("new")));
}

TEST_CASE_METHOD(DiskTierFixture,
                 "what is on disk is the snapshot that was written, with digests") {
  write("checkpoint-1/w.pt", "weights");
  const Snapshot snapshot = save_and_write();
  const Snapshot found = reopened();
  CHECK(found.number == snapshot.number);
  CHECK(found.taken_unix_ms == snapshot.taken_unix_ms);
  REQUIRE(found.files.size() == 2);
  CHECK(found.files[1].digest == snapshot.files[1].digest);
  CHECK(found.files[1].facts == *facts_of(disk_.folder(), "checkpoint-1/w.pt"));
}

TEST_CASE_METHOD(DiskTierFixture, "the next snapshot takes the place of the one before") {
  write("model.pt", "one");
  write("checkpoint-1/w.pt", "one");
  write("checkpoint-1/o.pt", "one");
  write("file-then-folder", "one");
  write("folder-then-file/x", "one");
  write("link-then-file", "one");
  fs::create_symlink("model.pt", in_folder("link"));
  fs::create_symlink("model.pt", in_folder("link-then-folder"));
  const Snapshot first = save_and_write();
  REQUIRE(tree_on_disk() == tree());
  const auto unchanged = facts_of(disk_.folder(), "checkpoint-1/w.pt");

  write("model.pt", "two");
  fs::remove(in_folder("checkpoint-1/o.pt"));
  write("checkpoint-2/w.pt", "two");
  for (const char* gone :
       {"file-then-folder", "folder-then-file", "link-then-file", "link", "link-then-folder"})
    fs::remove_all(in_folder(gone));
  write("file-then-folder/x", "two");
  write("folder-then-file", "two");
  fs::create_symlink("checkpoint-2", in_folder("link-then-file"));
  fs::create_symlink("checkpoint-2", in_folder("link"));
  write("link-then-folder/x", "two");
  save_and_write(first);
  CHECK(tree_on_disk() == tree());
  CHECK(facts_of(disk_.folder(), "checkpoint-1/w.pt") == unchanged);
  CHECK(reopened().files.size() == listed().size());
}

TEST_CASE_METHOD(DiskTierFixture, "what others put there stays, and has no digest") {
  put_on_disk("notes.txt", "theirs");
  write("checkpoint-1/w.pt", "one");
  const Snapshot first = save_and_write();
  put_on_disk("checkpoint-1/more.txt", "theirs");
  fs::remove_all(in_folder("checkpoint-1"));
  write("checkpoint-2/w.pt", "two");
  save_and_write(first);
  CHECK(tree_on_disk() == Tree{{"checkpoint-1", "/"},
                               {"checkpoint-1/more.txt", "theirs"},
                               {"checkpoint-2", "/"},
                               {"checkpoint-2/w.pt", "two"},
                               {"notes.txt", "theirs"}});
  const Snapshot found = reopened();
  CHECK(found.files.size() == 5);
  CHECK(paths_with_digest(found) == std::vector<std::string>{"checkpoint-2/w.pt"});
}

TEST_CASE_METHOD(DiskTierFixture, "a folder that no snapshot was written to is listed as it is") {
  put_on_disk("checkpoint-1/w.pt", "theirs");
  put_on_disk("train.log", "theirs");
  const Snapshot found = reopened();
  CHECK(found.number == 0);
  CHECK(found.taken_unix_ms > 0);
  CHECK(found.files.size() == 2);
  CHECK(paths_with_digest(found).empty());
}

TEST_CASE_METHOD(DiskTierFixture, "a file that was changed on disk has no digest any more") {
  write("a.pt", "one");
  write("b.pt", "one");
  save_and_write();
  put_on_disk("a.pt", "changed");
  CHECK(paths_with_digest(reopened()) == std::vector<std::string>{"b.pt"});
}

TEST_CASE_METHOD(DiskTierFixture, "what a killed ddprun had begun to place is gone from disk") {
  write("checkpoint-1/w.pt", "one");
  const Snapshot first = save_and_write();
  put_on_disk("checkpoint-1/train.log.ddprun-new", "half");
  fs::remove_all(in_folder("checkpoint-1"));
  REQUIRE(disk_.open().has_value());
  save_and_write(first);
  CHECK(tree_on_disk().empty());
}

TEST_CASE_METHOD(DiskTierFixture, "what is on disk can be put back into an empty memory") {
  write("checkpoint-1/w.pt", "weights");
  put_on_disk("theirs.pt", "theirs");
  save_and_write();
  Tree expected = tree();
  expected["theirs.pt"] = "theirs";
  memory_->remove();
  open_memory();
  const PutBackResult result = put_back(reopened());
  CHECK(tree() == expected);
  CHECK(result.bytes_from_disk == 13);
  // All have a digest now, so that the next snapshot can be written.
  write("checkpoint-2/w.pt", "weights two");
  write_to_disk(take(result.snapshot));
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture, "a snapshot that fails leaves the one before") {
  write("a.pt", "one");
  const Snapshot first = save_and_write();
  const Tree before = tree_on_disk();
  write("a.pt", "two");
  write("b.pt", "two");
  const Snapshot second = take(first);
  fs::remove(kept(second, "b.pt"));
  fs::remove(in_folder("b.pt"));
  const auto failed = disk_.write(second, memory_->files_of(second), memory_->folder(), pace_);
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kUnavailable);
  CHECK(tree_on_disk() == before);
  CHECK_FALSE(fs::exists(own("new")));
  CHECK(paths_with_digest(reopened()) == std::vector<std::string>{"a.pt"});
}

TEST_CASE_METHOD(DiskTierFixture, "a snapshot that is given up leaves the one before") {
  write("a.pt", "one");
  const Snapshot first = save_and_write();
  write("a.pt", "two");
  const Snapshot second = take(first);
  pace_.cancel();
  const auto failed = disk_.write(second, memory_->files_of(second), memory_->folder(), pace_);
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kTimeout);
  CHECK(tree_on_disk() == Tree{{"a.pt", "one"}});
}

TEST_CASE_METHOD(DiskTierFixture, "a file that is not kept any more is read in the folder") {
  write("checkpoint-1/w.pt", "one");
  const Snapshot snapshot = take();
  fs::remove(kept(snapshot, "checkpoint-1/w.pt"));
  write_to_disk(snapshot);
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture,
                 "what is in the place of a new file is an error, and tried again") {
  write("a", "one");
  const Snapshot first = take();
  put_on_disk("a/theirs.txt", "theirs");
  const auto failed = disk_.write(first, memory_->files_of(first), memory_->folder(), pace_);
  REQUIRE(failed.has_error());
  CHECK_THAT(failed.error().message, contains((disk_.folder() / "a").string()));
  fs::remove_all(disk_.folder() / "a");
  write_to_disk(first);
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture, "logs are copied as they are, and again when they have grown") {
  write("train.log", "line\n");
  write("checkpoint-1/metrics.csv", "1\n");
  write("checkpoint-1/w.pt", "weights");
  disk_.write_logs(memory_->folder(), pace_);
  CHECK(tree_on_disk() ==
        Tree{{"checkpoint-1", "/"}, {"checkpoint-1/metrics.csv", "1\n"}, {"train.log", "line\n"}});
  write("train.log", "line\nline\n");
  disk_.write_logs(memory_->folder(), pace_);
  CHECK(tree_on_disk()["train.log"] == "line\nline\n");
  save_and_write();
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture, "a log that cannot be copied holds up no other") {
  write("a.log", "one");
  write("b.log", "two");
  put_on_disk("a.log/theirs.txt", "theirs");
  disk_.write_logs(memory_->folder(), pace_);
  CHECK(tree_on_disk()["b.log"] == "two");
}

TEST_CASE_METHOD(DiskTierFixture, "a file that others have changed or removed is written again") {
  write("a.pt", "one");
  write("b.pt", "one");
  const Snapshot first = save_and_write();
  put_on_disk("a.pt", "changed");
  fs::remove(disk_.folder() / "b.pt");
  write("c.pt", "two");
  save_and_write(first);
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture, "a folder with our own name belongs to no checkpoint") {
  write(".ddprun/new/0", "a copy of the folder on disk");
  write(".ddprun/new.json", "{}");
  write("a.pt", "one");
  const Snapshot snapshot = save_and_write();
  CHECK(snapshot.files.size() == 1);
  CHECK(reopened().number == snapshot.number);
}

TEST_CASE_METHOD(DiskTierFixture, "a list that cannot be read now is waited for") {
  write("a.pt", "one");
  const Snapshot first = save_and_write();
  fs::create_directory(own("new.json"));
  fs::create_directory(own("new"));
  std::ofstream{own("new/0")} << "two";
  const auto opened = DiskTier{disk_.folder()}.open();
  REQUIRE(opened.has_error());
  CHECK(opened.error().kind == Error::Kind::kUnavailable);
  CHECK(disk_.write(first, memory_->files_of(first), memory_->folder(), pace_).has_error());
  CHECK(content(own("new/0")) == "two");
  CHECK(tree_on_disk() == tree());
}

TEST_CASE_METHOD(DiskTierFixture, "a list that is forgotten holds no more") {
  write("a.pt", "one");
  save_and_write();
  disk_.forget_list();
  CHECK_FALSE(fs::exists(own("")));
  CHECK(tree_on_disk() == tree());
  CHECK(reopened().number == 0);
  CHECK(paths_with_digest(reopened()).empty());
}

TEST_CASE_METHOD(DiskTierFixture, "a damaged list is none") {
  write("a.pt", "one");
  save_and_write();
  std::ofstream{own("files.json")} << "{";
  std::ofstream{own("new.json")} << "{";
  const Snapshot found = reopened();
  CHECK(found.number == 0);
  CHECK(found.files.size() == 1);
  CHECK(tree_on_disk() == tree());
}

}  // namespace
}  // namespace ddprun
