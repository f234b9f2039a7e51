#include "agent/checkpoints/memory_tier.hpp"

#include "tests/agent/checkpoints/tier_fixture.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class MemoryTierFixture : public TierFixture {
 protected:
  /// Two saves, of a program that numbers them, and has a file that it writes each time.
  void save_twice() {
    write("checkpoint-1/w.pt", "weights one");
    write("model.pt", "model one");
    fs::create_directory_symlink("checkpoint-1", in_folder("last"));
    first_ = take();
    write("checkpoint-2/w.pt", "weights two");
    write("model.pt", "model two");
    fs::remove(in_folder("last"));
    fs::create_directory_symlink("checkpoint-2", in_folder("last"));
    second_ = take(first_);
  }
  Result<std::optional<Snapshot>> try_to_take(const FolderState& state) {
    return memory_->take(state, second_, numbered(second_.number + 1), pace_);
  }
  fs::path of_user() const { return root_ / ("ddprun-checkpoints-" + std::to_string(geteuid())); }
  Error::Kind refusal() const {
    const auto opened = MemoryTier::open(root_, spec_of(disk_.folder()));
    REQUIRE(opened.has_error());
    return opened.error().kind;
  }

  const Tree one_{{"checkpoint-1", "/"},
                  {"checkpoint-1/w.pt", "weights one"},
                  {"last", "-> checkpoint-1"},
                  {"model.pt", "model one"}};
  const Tree two_{{"checkpoint-1", "/"},       {"checkpoint-1/w.pt", "weights one"},
                  {"checkpoint-2", "/"},       {"checkpoint-2/w.pt", "weights two"},
                  {"last", "-> checkpoint-2"}, {"model.pt", "model two"}};
  Snapshot first_, second_;
};

// --- whose folder it is ---

TEST_CASE_METHOD(MemoryTierFixture, "nobody else gets the folder while a job uses it") {
  CHECK(refusal() == Error::Kind::kDenied);
  const auto other = MemoryTier::open(root_, spec_of(scratch_ / "other"));
  REQUIRE(other.has_value());
  CHECK(other->folder() != memory_->folder());
  memory_.reset();
  CHECK(MemoryTier::open(root_, spec_of(disk_.folder())).has_value());
}

TEST_CASE_METHOD(MemoryTierFixture, "folders on disk with one name have two in memory") {
  const auto one = MemoryTier::open(root_, spec_of("/a/run7"));
  const auto two = MemoryTier::open(root_, spec_of("/b/run7"));
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  CHECK(one->folder() != two->folder());
}

TEST_CASE_METHOD(MemoryTierFixture, "others may not look into the folder") {
  memory_.reset();
  const auto mode = fs::status(of_user()).permissions();
  CHECK((mode & fs::perms::mask) == fs::perms::owner_all);
  fs::permissions(of_user(), fs::perms::group_read, fs::perm_options::add);
  CHECK(refusal() == Error::Kind::kDenied);
}

TEST_CASE_METHOD(MemoryTierFixture, "a link or a file in the folder's place is refused") {
  memory_.reset();
  fs::remove_all(of_user());
  fs::create_directory(scratch_ / "elsewhere");
  fs::create_directory_symlink(scratch_ / "elsewhere", of_user());
  CHECK(refusal() == Error::Kind::kDenied);
  fs::remove(of_user());
  std::ofstream{of_user()} << "x";
  CHECK(refusal() == Error::Kind::kDenied);
}

TEST_CASE_METHOD(MemoryTierFixture, "another user's folder is refused") {
  if (geteuid() != 0) {
    SUCCEED("only root can give a folder away");
    return;
  }
  memory_.reset();
  REQUIRE(chown(of_user().c_str(), 12345, 12345) == 0);
  CHECK(refusal() == Error::Kind::kDenied);
}

TEST_CASE_METHOD(MemoryTierFixture, "a program may give its folder other permissions") {
  fs::permissions(memory_->folder(), fs::perms{0755});
  memory_.reset();
  CHECK(MemoryTier::open(root_, spec_of(disk_.folder())).has_value());
}

TEST_CASE_METHOD(MemoryTierFixture, "a root that is not there is refused, and named") {
  const auto opened = MemoryTier::open(scratch_ / "none", spec_of(disk_.folder()));
  REQUIRE(opened.has_error());
  CHECK(opened.error().kind == Error::Kind::kUnavailable);
  CHECK_THAT(opened.error().message, contains((scratch_ / "none").string()));
}

// --- taken, and put back ---

TEST_CASE_METHOD(MemoryTierFixture, "the folder becomes what it was, whatever happened to it") {
  save_twice();
  CHECK(tree() == two_);

  write("checkpoint-1/w.pt", "weights on");  // cut
  fs::remove(in_folder("checkpoint-2/w.pt"));
  flip_bit(in_folder("model.pt"), 3);
  fs::remove(in_folder("last"));
  write("last/w.pt", "what was a link is a folder");
  write("checkpoint-3/w.pt.tmp", "half of it");
  write("checkpoint-3/train.log", "a log");
  write("train.log", "another one");
  CHECK(put_back(second_).bytes_from_disk == 0);
  Tree expected = two_;
  expected["checkpoint-3"] = "/";
  expected["checkpoint-3/train.log"] = "a log";
  expected["train.log"] = "another one";
  CHECK(tree() == expected);
}

TEST_CASE_METHOD(MemoryTierFixture, "an older snapshot can be put back, and then a newer one") {
  save_twice();
  put_back(first_);
  CHECK(tree() == one_);
  put_back(second_);
  CHECK(tree() == two_);
  fs::remove_all(in_folder("checkpoint-1"));
  put_back(second_);
  CHECK(tree() == two_);
}

TEST_CASE_METHOD(MemoryTierFixture, "an empty folder can be put back") {
  save_twice();
  put_back({});
  CHECK(tree().empty());
}

TEST_CASE_METHOD(MemoryTierFixture, "what was put back has its old times, and a snapshot says so") {
  save_twice();
  const auto times = [&] {
    std::map<std::string, std::int64_t> of;
    for (const FileFacts& facts : listed())
      if (facts.kind != FileFacts::Kind::kLink) of[facts.path] = facts.modified_ns;
    return of;
  };
  const auto before = times();
  fs::remove_all(in_folder("checkpoint-1"));
  fs::remove_all(in_folder("checkpoint-2"));
  write("model.pt", "other");
  const PutBackResult result = put_back(second_);
  CHECK(times() == before);
  CHECK(has_same_files(listed(), result.snapshot));
  const auto nothing_new = memory_->take(listed(), result.snapshot, numbered(3), pace_);
  REQUIRE(nothing_new.has_value());
  REQUIRE(nothing_new->has_value());
  CHECK(new_bytes(**nothing_new) == 0);
}

TEST_CASE_METHOD(MemoryTierFixture, "a numbered file costs no second copy, another one does") {
  save_twice();
  CHECK(fs::hard_link_count(in_folder("checkpoint-2/w.pt")) == 2);
  CHECK(fs::hard_link_count(in_folder("model.pt")) == 1);
  CHECK(file_of(second_, "model.pt").copied);
  CHECK_FALSE(file_of(second_, "checkpoint-2/w.pt").copied);
}

TEST_CASE_METHOD(MemoryTierFixture, "what a killed ddprun had begun to place is gone") {
  save_twice();
  write("model.pt.ddprun-new", "half");
  write("checkpoint-1/w.pt.ddprun-new", "half");
  write("checkpoint-3/w.pt.ddprun-new", "half");
  put_back(second_);
  CHECK(tree() == two_);
}

TEST_CASE_METHOD(MemoryTierFixture, "a folder is removed with what is no file in it") {
  save_twice();
  fs::create_directory(in_folder("checkpoint-3"));
  REQUIRE(mkfifo(in_folder("checkpoint-3/pipe").c_str(), 0600) == 0);
  put_back(second_);
  CHECK(tree() == two_);
}

TEST_CASE_METHOD(MemoryTierFixture, "a file in the place of a folder with logs is put back") {
  write("best", "weights");
  first_ = take();
  fs::remove(in_folder("best"));
  write("best/train.log", "text");
  put_back(first_);
  CHECK(tree() == Tree{{"best", "weights"}});
}

TEST_CASE_METHOD(MemoryTierFixture, "whatever is in a folder, and in the snapshots, is put back") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    simulation::Random random{seed};
    Tree one, two, three;
    for (Tree* any : {&one, &two, &three}) grow_tree(random, *any, "", 3);
    make(one);
    first_ = take();
    make(two);
    second_ = take(first_);
    make(three);
    put_back(second_);
    REQUIRE(tree() == two);
    put_back(first_);
    REQUIRE(tree() == one);
    put_back(second_);
    REQUIRE(tree() == two);
  }
}

// --- when a snapshot is refused ---

TEST_CASE_METHOD(MemoryTierFixture, "a folder that has changed meanwhile is not kept") {
  save_twice();
  const FolderState before = listed();
  const auto refused = [&] {
    const auto taken = try_to_take(before);
    REQUIRE(taken.has_value());
    CHECK_FALSE(fs::exists(root_ / "kept" / "3"));
    CHECK(memory_->snapshots().size() == 2);
    return !taken->has_value();
  };
  write_anew("checkpoint-2/w.pt", "weights TWO");
  CHECK(refused());
  fs::remove(in_folder("checkpoint-2/w.pt"));
  CHECK(refused());
  put_back(second_);
  write("more.pt", "x");
  CHECK(refused());
  fs::remove(in_folder("more.pt"));
  fs::remove(in_folder("last"));
  fs::create_directory_symlink("checkpoint-1", in_folder("last"));
  CHECK(refused());
}

TEST_CASE_METHOD(MemoryTierFixture, "a folder with a file that is open for writing is not kept") {
  save_twice();
  std::ofstream open{in_folder("checkpoint-3.pt")};
  const FolderState state = listed();
  // Where the temporary folder is, leases may be unknown.
  if (open_for_writing(memory_->folder(), state).empty()) {
    SUCCEED("no leases here");
    return;
  }
  const auto taken = try_to_take(state);
  REQUIRE(taken.has_value());
  CHECK_FALSE(taken->has_value());
  open.close();
  const auto again = try_to_take(listed());
  REQUIRE(again.has_value());
  CHECK(again->has_value());
}

TEST_CASE_METHOD(MemoryTierFixture, "a snapshot that fails in a still folder is an error") {
  save_twice();
  write("checkpoint-3/w.pt", "weights three");
  pace_.cancel();
  const auto taken = try_to_take(listed());
  REQUIRE(taken.has_error());
  CHECK(taken.error().kind == Error::Kind::kTimeout);
  CHECK(memory_->snapshots().size() == 2);
}

// --- for the next job ---

TEST_CASE_METHOD(MemoryTierFixture, "snapshots outlive the job, and nothing half does") {
  save_twice();
  fs::create_directory(root_ / "x");
  const fs::path kept = memory_->files_of(second_).parent_path();
  fs::create_directories(kept / "3");  // its list was not written any more
  std::ofstream{kept / "3" / "w.pt"} << "half";
  std::ofstream{kept / "4.json"} << "{";  // the machine stopped
  fs::create_directories(kept / "4");
  open_memory();
  const auto found = memory_->snapshots();
  REQUIRE(found.size() == 2);
  CHECK(found[0].number == 1);
  CHECK(found[1].number == 2);
  for (const char* gone : {"3", "4", "4.json"}) CHECK_FALSE(fs::exists(kept / gone));
  write("model.pt", "half");
  put_back(found[1]);
  CHECK(tree() == two_);
}

TEST_CASE_METHOD(MemoryTierFixture, "a snapshot that is forgotten takes none of another with it") {
  save_twice();
  memory_->forget(first_);
  CHECK(memory_->snapshots().size() == 1);
  fs::remove_all(in_folder("checkpoint-1"));
  put_back(second_);
  CHECK(tree() == two_);
  memory_->remove();
  CHECK_FALSE(fs::exists(memory_->folder()));
}

}  // namespace
}  // namespace ddprun
