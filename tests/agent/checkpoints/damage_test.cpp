// What becomes of a checkpoint if bytes of it are wrong in memory, on disk, or in both.
#include <random>

#include "tests/agent/checkpoints/tier_fixture.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class DamageFixture : public TierFixture {
 protected:
  DamageFixture() {
    for (const char* path : {"checkpoint-1/w.pt", "checkpoint-1/o.pt", "model.pt"})
      write(path, any_bytes(3'000));
    first_ = take();
    one_ = tree();
    for (const char* path : {"checkpoint-2/w.pt", "checkpoint-2/o.pt", "model.pt"})
      write(path, any_bytes(3'000));
    second_ = take(first_);
    two_ = tree();
  }

  std::string any_bytes(std::size_t size_max) {
    std::string bytes(1 + random_() % size_max, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  /// In the program's folder and in what was kept, which may be one and the same file.
  void damage_in_memory(const std::string& path, std::size_t at) {
    const bool linked = fs::equivalent(in_folder(path), kept(second_, path));
    flip_bit(in_folder(path), at);
    if (!linked) flip_bit(kept(second_, path), at);
  }

  std::mt19937 random_{11};
  Snapshot first_, second_;
  Tree one_, two_;
};

TEST_CASE_METHOD(DamageFixture, "a wrong bit in memory is found, and the file is read from disk") {
  write_to_disk(second_);
  Snapshot current = second_;
  for (int i = 0; i < 100; ++i) {
    const KeptFile* file = nullptr;
    while (file == nullptr || file->facts.kind != FileFacts::Kind::kFile)
      file = &second_.files[random_() % second_.files.size()];
    const std::string path = file->facts.path;
    const auto bytes = static_cast<std::size_t>(file->facts.bytes);
    const std::size_t at = random_() % bytes;
    damage_in_memory(path, at);
    INFO(path << " at " << at);
    REQUIRE(tree() != two_);
    const PutBackResult result = put_back(current);
    REQUIRE(tree() == two_);
    REQUIRE_FALSE(result.complaints.empty());
    REQUIRE(result.bytes_from_disk == file->facts.bytes);
    flip_bit(kept(second_, path), at);
    current = result.snapshot;
  }
  CHECK(put_back(current).complaints.empty());
}

TEST_CASE_METHOD(DamageFixture, "of a file that was copied, one good copy is enough") {
  flip_bit(in_folder("model.pt"), 0);
  const PutBackResult result = put_back(second_);
  CHECK(tree() == two_);
  CHECK(result.bytes_from_disk == 0);
  CHECK(result.complaints == std::vector<std::string>{"'" + in_folder("model.pt").string() +
                                                      "' has other bytes than were saved"});
}

TEST_CASE_METHOD(DamageFixture, "of a file that is linked, the copy on disk is taken") {
  write_to_disk(second_);
  flip_bit(in_folder("checkpoint-2/w.pt"), 0);
  const PutBackResult result = put_back(second_);
  CHECK(tree() == two_);
  REQUIRE(result.complaints.size() == 2);
  CHECK_THAT(result.complaints[0], contains(in_folder("checkpoint-2/w.pt").string()));
  CHECK_THAT(result.complaints[1], contains(kept(second_, "checkpoint-2/w.pt").string()));
}

TEST_CASE_METHOD(DamageFixture, "of a file that is trusted, nothing is read") {
  flip_bit(in_folder("checkpoint-1/w.pt"), 0);
  const PutBackResult result = put_back(second_, 2);
  CHECK(result.complaints.empty());
  CHECK(tree() != two_);
}

TEST_CASE_METHOD(DamageFixture, "if memory and disk have wrong bytes, the older snapshot is good") {
  write_to_disk(second_);
  damage_in_memory("model.pt", 5);
  flip_bit(disk_.folder() / "model.pt", 6);
  const auto failed = memory_->put_back(second_, 0, pace_);
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kInvalid);
  CHECK_THAT(failed.error().message, contains("model.pt"));
  put_back(first_);
  CHECK(tree() == one_);
}

TEST_CASE_METHOD(DamageFixture, "a file that is nowhere any more is an error") {
  fs::remove(in_folder("model.pt"));
  fs::remove(kept(second_, "model.pt"));
  const auto failed = memory_->put_back(second_, 0, pace_);
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kInvalid);
  put_back(first_);
  CHECK(tree() == one_);
}

TEST_CASE_METHOD(DamageFixture, "damaged bytes are not written to disk") {
  const Tree before = tree_on_disk();
  flip_bit(kept(second_, "model.pt"), 5);
  const auto written = disk_.write(second_, memory_->files_of(second_), memory_->folder(), pace_);
  REQUIRE(written.has_error());
  CHECK(written.error().kind == Error::Kind::kInvalid);
  CHECK(tree_on_disk() == before);
  CHECK(write_to_disk(first_).number == 1);
  CHECK(tree_on_disk() == one_);
}

// --- files that are on disk alone ---

TEST_CASE_METHOD(DamageFixture, "a file that is left on disk takes no memory, and is read there") {
  write_to_disk(second_);
  std::vector<Snapshot> all{first_, second_};
  memory_->leave_on_disk({"checkpoint-1/w.pt"}, all);
  CHECK(fs::read_symlink(in_folder("checkpoint-1/w.pt")) == disk_.folder() / "checkpoint-1/w.pt");
  CHECK_FALSE(fs::exists(kept(second_, "checkpoint-1/w.pt")));
  CHECK_FALSE(fs::exists(kept(first_, "checkpoint-1/w.pt")));
  CHECK(has_same_files(listed(), all[1]));
  CHECK(content(in_folder("checkpoint-1/w.pt")) == two_.at("checkpoint-1/w.pt"));

  fs::remove_all(in_folder("checkpoint-1"));
  const Snapshot current = put_back(all[1]).snapshot;
  CHECK(fs::is_symlink(in_folder("checkpoint-1/w.pt")));
  CHECK(content(in_folder("checkpoint-1/w.pt")) == two_.at("checkpoint-1/w.pt"));

  write("checkpoint-3/w.pt", "three");
  write_to_disk(take(current));
  CHECK(content(disk_.folder() / "checkpoint-1/w.pt") == two_.at("checkpoint-1/w.pt"));
}

TEST_CASE_METHOD(DamageFixture, "what is left on disk stays there for the next job, too") {
  write_to_disk(second_);
  std::vector<Snapshot> all{first_, second_};
  memory_->leave_on_disk({"checkpoint-1/w.pt"}, all);
  open_memory();
  const auto found = memory_->snapshots();
  REQUIRE(found.size() == 2);
  const Tree left = tree();
  fs::remove_all(in_folder("checkpoint-1"));
  CHECK(put_back(found[1]).bytes_from_disk == 0);
  CHECK(tree() == left);
}

TEST_CASE_METHOD(DamageFixture, "a snapshot whose files are gone from disk is not put back") {
  write_to_disk(second_);
  std::vector<Snapshot> all{first_, second_};
  memory_->leave_on_disk({"checkpoint-1/w.pt"}, all);
  fs::remove(disk_.folder() / "checkpoint-1/w.pt");
  const auto failed = memory_->put_back(all[1], 0, pace_);
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kInvalid);
}

TEST_CASE_METHOD(DamageFixture, "what others put on disk is written about without being read") {
  fs::create_directories(disk_.folder() / "checkpoint-0");
  std::ofstream{disk_.folder() / "checkpoint-0/w.pt"} << "theirs";
  auto there = disk_.open();
  REQUIRE(there.has_value());
  file_of(*there, "checkpoint-0/w.pt").facts.on_disk = true;
  const Snapshot current = put_back(*there).snapshot;
  CHECK(fs::is_symlink(in_folder("checkpoint-0/w.pt")));
  write("checkpoint-5/w.pt", "ours");
  write_to_disk(take(current));
  CHECK(tree_on_disk() == Tree{{"checkpoint-0", "/"},
                               {"checkpoint-0/w.pt", "theirs"},
                               {"checkpoint-5", "/"},
                               {"checkpoint-5/w.pt", "ours"}});
}

}  // namespace
}  // namespace ddprun
