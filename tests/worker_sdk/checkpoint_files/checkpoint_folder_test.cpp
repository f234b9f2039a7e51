#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

#include <sys/stat.h>

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("names of checkpoints sort by step and are distinguished from others") {
  CHECK(checkpoint_name(42) == "checkpoint-000000000042");
  CHECK(parse_checkpoint_name(checkpoint_name(1'234'567'890'123)) == 1'234'567'890'123);
  CHECK_FALSE(parse_checkpoint_name("checkpoint-x").has_value());
  CHECK_FALSE(parse_checkpoint_name("checkpoint-").has_value());
  CHECK_FALSE(parse_checkpoint_name(unfinished_name(42, "t")).has_value());
  CHECK(parse_unfinished_name(unfinished_name(42, "1-2-3")) == 42);
  CHECK_FALSE(parse_unfinished_name(".something.tmp").has_value());
}

TEST_CASE("the newest complete ones and every n-th are kept, whatever is damaged") {
  std::vector<CheckpointEntry> all;
  for (const int step : {9, 8, 7, 6, 5, 4, 3, 2, 1}) all.push_back({.step = step});
  all[0].state = CheckpointState::kDamaged;     // 9: does not count
  all[6].state = CheckpointState::kIncomplete;  // 3: goes with the old ones
  Steps going;
  for (const auto& entry : outdated(all, {.keep = 2, .keep_every = 4})) going.push_back(entry.step);
  CHECK(going == Steps{6, 5, 3, 2, 1});
  CHECK(outdated(all, {.keep = 8}).empty());
}

TEST_CASE_METHOD(CheckpointFixture, "a flipped byte, a lost file or a short one is noticed") {
  auto to = publisher({.retention = {.keep = 9}});
  for (int step = 1; step <= 5; ++step) publish(to, step);
  flip_byte(path_of(5) / kOptimizerFile, 9'999'999);
  flip_byte(path_of(4) / kManifestFile, 20);
  fs::resize_file(path_of(3) / kModelFile, 3);
  fs::remove(path_of(2) / kModelFile);
  CHECK(complete() == Steps{1});
  CHECK_THAT(verify_checkpoint(path_of(5)).reason,
             contains("optimizer.safetensors has the SHA-256"));
  CHECK(inspect_checkpoint(path_of(5)).state == CheckpointState::kComplete);  // sizes alone
  CHECK(inspect_checkpoint(path_of(4)).state == CheckpointState::kDamaged);
  CHECK_THAT(inspect_checkpoint(path_of(3)).reason, contains("has 3 bytes, the manifest says "));
  CHECK(inspect_checkpoint(path_of(2)).state == CheckpointState::kIncomplete);
  fs::remove(path_of(1) / kManifestFile);
  CHECK(inspect_checkpoint(path_of(1)).state == CheckpointState::kIncomplete);
}

TEST_CASE_METHOD(CheckpointFixture, "a checkpoint under another step's name is not believed") {
  auto to = publisher();
  publish(to, 1);
  fs::rename(path_of(1), path_of(2));
  CHECK_THAT(verify_checkpoint(path_of(2)).reason, contains("its manifest is that of step 1"));
}

TEST_CASE_METHOD(CheckpointFixture,
                 "a file that is a symbolic link, a pipe or a folder is damage") {
  const std::string file = one_tensor("abc");
  std::ofstream{folder_ / "elsewhere"} << file;
  for (const int what : {0, 1, 2}) {
    const fs::path path = made_elsewhere(what, kModelFile, file);
    CHECK(verify_checkpoint(path).state == CheckpointState::kComplete);
    fs::remove(path / kModelFile);
    if (what == 0) fs::create_symlink(folder_ / "elsewhere", path / kModelFile);
    if (what == 1) REQUIRE(mkfifo((path / kModelFile).c_str(), 0600) == 0);
    if (what == 2) fs::create_directory(path / kModelFile);
    for (const auto& entry : {inspect_checkpoint(path), verify_checkpoint(path)}) {
      CHECK(entry.state == CheckpointState::kDamaged);
      CHECK_THAT(entry.reason, contains(what == 0 ? "is a symbolic link, which is not followed"
                                                  : "is no regular file"));
    }
  }
}

TEST_CASE_METHOD(CheckpointFixture, "a manifest that is a symbolic link or a pipe is damage") {
  const fs::path path = made_elsewhere(1, kModelFile, one_tensor("abc"));
  fs::rename(path / kManifestFile, folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", path / kManifestFile);
  CHECK_THAT(inspect_checkpoint(path).reason, contains("is a symbolic link"));
  fs::remove(path / kManifestFile);
  REQUIRE(mkfifo((path / kManifestFile).c_str(), 0600) == 0);
  CHECK_THAT(inspect_checkpoint(path).reason, contains("is no regular file"));
}

TEST_CASE_METHOD(CheckpointFixture, "a manifest of 60 MB is not read") {
  fs::create_directory(path_of(1));
  std::ofstream{path_of(1) / kManifestFile} << "{";
  fs::resize_file(path_of(1) / kManifestFile, 60'000'000);
  const auto entry = verify_checkpoint(path_of(1));
  CHECK(entry.state == CheckpointState::kDamaged);
  CHECK(entry.reason == "manifest.json has 60000000 bytes, and 1048576 are read at most");
}

TEST_CASE_METHOD(CheckpointFixture, "right hashes do not make tensors lie inside their file") {
  std::int64_t step = 0;
  const auto reason = [&](const std::string& file) {
    const auto path = made_elsewhere(++step, kModelFile, file);
    CHECK(inspect_checkpoint(path).state == CheckpointState::kComplete);  // sizes alone
    const auto entry = verify_checkpoint(path);
    CHECK(entry.state == CheckpointState::kDamaged);
    CHECK_THAT(entry.reason, contains("model.safetensors is not a complete safetensors file: "));
    return entry.reason;
  };
  CHECK_THAT(reason(tensor_file(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "abc")),
             contains("tensor 'a' reaches beyond its end"));
  CHECK_THAT(reason("abc"), contains("it has 3 bytes"));
  CHECK_THAT(reason(std::string(8, '\xff')), contains("its header claims 18446744073709551615"));
  CHECK(verify_checkpoint(made_elsewhere(9, "notes.txt", "abc")).state ==
        CheckpointState::kComplete);
}

}  // namespace
}  // namespace ddprun::sdk
