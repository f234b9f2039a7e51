#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("names of checkpoints sort by step and are told from others") {
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
  CHECK_THAT(inspect_checkpoint(path_of(3)).reason, contains("has 3 bytes, the manifest says 15"));
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

}  // namespace
}  // namespace ddprun::sdk
