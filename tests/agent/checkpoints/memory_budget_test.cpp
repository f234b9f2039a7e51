#include "agent/checkpoints/memory_budget.hpp"

#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kReserved = std::int64_t{64} << 20;  // for all else
using Paths = std::vector<std::string>;

TEST_CASE("as long as no checkpoint is known, a save is taken to need a fixed size") {
  const Snapshot empty;
  CHECK(bytes_of_save(nullptr) == kUnknownSaveBytes);
  CHECK(bytes_of_save(&empty) == kUnknownSaveBytes);
}

TEST_CASE("a save needs as much as the last one, and a quarter more") {
  Snapshot snapshot = snapshot_of(2, {a_file("a", 1, 4 * kGiB), a_file("b", 2, 8 * kGiB)});
  CHECK(bytes_of_save(&snapshot) == 15 * kGiB);
  file_of(snapshot, "b").since = 1;
  CHECK(bytes_of_save(&snapshot) == 5 * kGiB);
}

TEST_CASE("a save that was cut off needs more than there was of it") {
  Snapshot snapshot = snapshot_of(1, {a_file("a", 1, kGiB), a_folder("b"), a_file("b/c", 1, kGiB)});
  FolderState folder{snapshot.files[0].facts, snapshot.files[1].facts, snapshot.files[2].facts};
  CHECK(bytes_cut_off(folder, snapshot) == 0);
  folder[2].bytes = 4 * kGiB;
  folder.push_back(a_file("train.log", 1, kGiB));
  CHECK(bytes_cut_off(folder, snapshot) == 4 * kGiB);
  CHECK(bytes_cut_off(folder, {}) == 5 * kGiB);
  CHECK(bytes_of_save(&snapshot, 4 * kGiB) == 5 * kGiB);
  CHECK(bytes_of_save(&snapshot, kGiB) == bytes_of_save(&snapshot));
  CHECK(bytes_of_save(nullptr, 4 * kGiB) == 5 * kGiB);
  CHECK(bytes_of_save(nullptr, 4) == kUnknownSaveBytes);
}

TEST_CASE("what is free is the least of what is free anywhere") {
  CHECK(bytes_free({.file_system = 5}) == 5);
  CHECK(bytes_free({.file_system = 5, .machine = 9, .cgroup = 7}) == 5);
  CHECK(bytes_free({.file_system = 5, .machine = 3, .cgroup = 7}) == 3);
  CHECK(bytes_free({.file_system = 5, .machine = 3, .cgroup = 2}) == 2);
  CHECK(bytes_free({.file_system = 5, .cgroup = -2}) == -2);
}

TEST_CASE("a save has to leave something for all else") {
  const MemoryRoom room{.file_system = kGiB, .machine = 2 * kGiB};
  CHECK(bytes_short(kGiB - kReserved, room) == 0);
  CHECK(no_room_for(kGiB - kReserved, room).empty());
  CHECK(bytes_short(kGiB - kReserved + 1, room) == 1);
  CHECK_FALSE(no_room_for(kGiB - kReserved + 1, room).empty());
  CHECK(bytes_short(kGiB, {.file_system = kGiB, .cgroup = -kGiB}) == 2 * kGiB + kReserved);
}

TEST_CASE("the user reads what is short, and how there is more of it") {
  const std::string in_file_system = no_room_for(kGiB, {.file_system = 0, .machine = 1});
  CHECK_THAT(in_file_system, contains("a checkpoint needs 1.1 GiB of memory"));
  CHECK_THAT(in_file_system, contains("/dev/shm has 0 B left"));
  CHECK_THAT(in_file_system, contains("docker run --shm-size"));
  const std::string in_machine = no_room_for(kGiB, {.file_system = 9, .machine = 1});
  CHECK_THAT(in_machine, contains("this machine has 1 B left"));
  const std::string after_kill = no_room_for(1, {.file_system = kGiB, .has_killed = true});
  CHECK_THAT(after_kill, contains("beside the workers"));
  CHECK_THAT(after_kill, contains("--mem"));
  const std::string in_group = no_room_for(kGiB, {.file_system = 9, .machine = 8, .cgroup = 7});
  CHECK_THAT(in_group, contains("the control group of this job has 7 B left"));
  CHECK_THAT(in_group, contains("memory.max"));
}

// --- what is left on disk ---

/// Checkpoints 1 to 5, each of a save of its own, and a file that each save writes.
class LeftOnDiskFixture {
 protected:
  LeftOnDiskFixture() {
    FolderState state{a_file("model.pt", 99, 10)};
    for (const char* number : {"1", "2", "3", "4", "5"}) {
      state.push_back(a_folder("step-" + std::string{number}));
      state.push_back(a_file("step-" + std::string{number} + "/w.pt", 1, 10));
    }
    snapshot_ = snapshot_of(5, state);
    for (KeptFile& file : snapshot_.files)
      if (file.facts.path.starts_with("step-")) {
        file.since = file.facts.path[5] - '0';
        file.digest = "d" + file.facts.path.substr(5, 1);
      }
    there_ = snapshot_;
  }
  Paths left(std::int64_t bytes) const { return files_to_leave_on_disk(snapshot_, there_, bytes); }

  Snapshot snapshot_, there_;
};

TEST_CASE_METHOD(LeftOnDiskFixture, "the oldest files are left on disk, as many as needed") {
  CHECK(left(0).empty());
  CHECK(left(1) == Paths{"step-1/w.pt"});
  CHECK(left(10) == Paths{"step-1/w.pt"});
  CHECK(left(11) == Paths{"step-1/w.pt", "step-2/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "the files of the last two saves stay in memory") {
  CHECK(left(1'000) == Paths{"step-1/w.pt", "step-2/w.pt", "step-3/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "a file without a number stays, however old") {
  file_of(snapshot_, "model.pt").since = 1;
  CHECK(left(1'000) == Paths{"step-1/w.pt", "step-2/w.pt", "step-3/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "a file with a number stays until the program takes another") {
  for (Snapshot* snapshot : {&snapshot_, &there_}) {
    snapshot->files.push_back({.facts = a_file("v2.pt", 3, 10), .digest = "d", .since = 1});
    std::ranges::sort(snapshot->files, {}, [](const auto& file) { return file.facts.path; });
  }
  CHECK(left(1'000) == Paths{"step-1/w.pt", "step-2/w.pt", "step-3/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "a file stays if one like it was written again later") {
  file_of(snapshot_, "step-2/w.pt").copied = true;
  CHECK(left(1'000) == Paths{"step-2/w.pt", "step-3/w.pt"});
  file_of(snapshot_, "step-5/w.pt").copied = true;
  CHECK(left(1'000).empty());
}

TEST_CASE_METHOD(LeftOnDiskFixture, "a file stays that the disk has not, or not like this") {
  file_of(there_, "step-1/w.pt").digest = "another";
  std::erase_if(there_.files, [](const auto& file) { return file.facts.path == "step-2/w.pt"; });
  CHECK(left(1) == Paths{"step-3/w.pt"});
  file_of(there_, "step-3/w.pt").digest.clear();
  file_of(snapshot_, "step-3/w.pt").digest.clear();
  CHECK(left(1).empty());
}

TEST_CASE_METHOD(LeftOnDiskFixture, "what is on disk already frees nothing") {
  file_of(snapshot_, "step-1/w.pt").facts.on_disk = true;
  CHECK(left(1) == Paths{"step-2/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "of one save, what was written first is left first") {
  for (const char* path : {"step-1/w.pt", "step-2/w.pt", "step-3/w.pt"})
    file_of(snapshot_, path).since = 1;
  --file_of(snapshot_, "step-3/w.pt").facts.modified_ns;
  CHECK(left(1) == Paths{"step-3/w.pt"});
}

TEST_CASE_METHOD(LeftOnDiskFixture, "of what is on disk, the newest that fits comes to memory") {
  const auto beyond = [&](std::int64_t bytes) {
    Paths paths = files_beyond(there_, bytes);
    std::ranges::sort(paths);
    return paths;
  };
  CHECK(beyond(60).empty());
  CHECK(beyond(59) == Paths{"step-1/w.pt"});
  CHECK(beyond(30) == Paths{"step-1/w.pt", "step-2/w.pt", "step-3/w.pt"});
  CHECK(beyond(0).size() == 5);
  CHECK(files_beyond({}, 0).empty());
}

}  // namespace
}  // namespace ddprun
