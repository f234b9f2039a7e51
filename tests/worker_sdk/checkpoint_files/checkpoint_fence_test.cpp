#include "worker_sdk/checkpoint_files/checkpoint_fence.hpp"

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE_METHOD(CheckpointFixture, "a straggler of an older attempt cannot publish over a newer") {
  auto straggler = publisher({}, attempt(1));
  publish(straggler, 5);
  auto current = publisher({}, attempt(2));
  publish(current, 6);
  const std::string before = contents(path_of(6) / kManifestFile);
  CHECK_THROWS_AS(publish(straggler, 6), FencedOffError);
  CHECK_THROWS_WITH(publish(straggler, 7), contains("attempt 2") && contains("has claimed it") &&
                                               contains("End this process: that one goes on"));
  CHECK_THROWS_AS(straggler.remove_unfinished(), FencedOffError);
  CHECK(contents(path_of(6) / kManifestFile) == before);
  CHECK(complete() == Steps{6, 5});
  CHECK(list_unfinished(folder_.path()).empty());
  publish(current, 7);
  CHECK(complete() == Steps{7, 6, 5});
}

TEST_CASE_METHOD(CheckpointFixture, "a straggler that comes late cannot claim the folder either") {
  publisher({}, attempt(2));
  CHECK_THROWS_WITH(publisher({}, attempt(1)),
                    contains("comes too late to claim") && contains("End this process"));
  publisher({}, attempt(1, "another job"));  // which the newest claim is for
  publisher({}, attempt(0, "another job's rerun"));
}

TEST_CASE_METHOD(CheckpointFixture,
                 "a job that is run again claims what its last run had claimed") {
  // The claim of a later attempt, made before this process started.
  std::ofstream{folder_ / ".fence"} << R"({"token":"1-2-3","run_id":"job","generation":3,)"
                                    << R"("attempt":3,"host":"h","pid":1,"time_unix_ms":1000})";
  auto to = publisher({}, attempt(0));
  publish(to, 1);
  CHECK(complete() == Steps{1});
}

/// Leaves a claim of another process in `folder`, as a newer attempt does: made after this process
/// had started.
void claim_from_elsewhere(const fs::path& folder, int generation, const std::string& run_id) {
  std::ofstream{folder / ".fence"}
      << R"({"token":"1-2-3","run_id":")" << run_id << R"(","generation":)" << generation
      << R"(,"attempt":)" << generation << R"(,"host":"h","pid":1,"time_unix_ms":9000000000000})";
}

TEST_CASE_METHOD(CheckpointFixture, "of two claims of one generation the newer one counts") {
  claim_from_elsewhere(folder_.path(), 1, "job");
  auto to = publisher({}, attempt(1));
  publish(to, 1);
  claim_from_elsewhere(folder_.path(), 1, "job");
  CHECK_THROWS_AS(publish(to, 2), FencedOffError);
  CHECK(complete() == Steps{1});
}

TEST_CASE_METHOD(CheckpointFixture, "a later generation cannot be claimed over, but another run") {
  claim_from_elsewhere(folder_.path(), 2, "job");
  CHECK_THROWS_AS(publisher({}, attempt(1)), FencedOffError);
  claim_from_elsewhere(folder_.path(), 2, "another job");
  auto to = publisher({}, attempt(1));
  publish(to, 1);
}

TEST_CASE_METHOD(CheckpointFixture, "a claim outlives a power failure, and is written once") {
  const DiskCalls calls{folder_.path()};
  const std::string token = CheckpointFence::claim(folder_.path(), attempt(0)).token();
  const auto all = calls.all();
  REQUIRE(all.size() == 3);
  CHECK_THAT(all[0], Catch::Matchers::StartsWith("fsync ..fence."));
  CHECK_THAT(all[1], Catch::Matchers::StartsWith("rename ..fence.") &&
                         Catch::Matchers::EndsWith(".tmp -> .fence"));
  CHECK(all[2] == "fsync .");
  CHECK(CheckpointFence::claim(folder_.path(), attempt(0)).token() == token);
  CHECK(calls.count("fsync") == 2);
  CHECK(CheckpointFence::claim(folder_.path(), attempt(1)).token() != token);
}

TEST_CASE_METHOD(CheckpointFixture, "who enters keeps all others out, and lets them in again") {
  const auto fence =
      CheckpointFence::claim(folder_.path(), attempt(0), std::chrono::milliseconds{1});
  {
    const auto entered = fence.enter();
    CHECK_THROWS_WITH(fence.enter(), contains("another process has held the lock"));
  }
  CHECK_NOTHROW(fence.enter());
}

TEST_CASE_METHOD(CheckpointFixture, "rounds order claims where ddprun tells them") {
  WorkerEnv env = attempt(0);
  env.round = 2;
  auto straggler = publisher({}, env);
  env.round = 3;  // a node was lost, which is no new attempt
  auto current = publisher({}, env);
  CHECK_THROWS_AS(publish(straggler, 1), FencedOffError);
  publish(current, 1);
}

TEST_CASE_METHOD(CheckpointFixture,
                 "an attempt whose claim was removed gets the advice to start again") {
  auto to = publisher();
  fs::remove(folder_ / ".fence");
  CHECK_THROWS_WITH(publish(to, 1),
                    contains("'.fence' there, has been removed. Start the job again"));
}

TEST_CASE_METHOD(CheckpointFixture, "a claim that makes no sense is replaced") {
  std::ofstream{folder_ / ".fence"} << "not JSON";
  auto to = publisher();
  publish(to, 1);
  CHECK(complete() == Steps{1});
}

TEST_CASE_METHOD(CheckpointFixture, "no claim is read that is longer than any, or elsewhere") {
  std::ofstream{folder_ / ".fence"} << "[" << std::string(1'000'000, '[');
  publisher();
  fs::rename(folder_ / ".fence", folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", folder_ / ".fence");
  const std::string before = contents(folder_ / "elsewhere");
  auto to = publisher();  // replaces the link
  publish(to, 1);
  CHECK(contents(folder_ / "elsewhere") == before);
  CHECK(fs::is_regular_file(fs::symlink_status(folder_ / ".fence")));
}

TEST_CASE_METHOD(CheckpointFixture, "only the owner of a folder's lock can hold it") {
  const auto mode = [&] { return fs::status(folder_ / ".fence.lock").permissions(); };
  constexpr auto kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;
  publisher();
  CHECK(mode() == kOwnerOnly);
  fs::permissions(folder_ / ".fence.lock",
                  kOwnerOnly | fs::perms::group_read | fs::perms::others_read);
  publisher();  // takes one that an earlier version has made
  CHECK(mode() == kOwnerOnly);
  fs::rename(folder_ / ".fence.lock", folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", folder_ / ".fence.lock");
  CHECK_THROWS_WITH(publisher(), contains("cannot open") && contains(".fence.lock"));
}

TEST_CASE_METHOD(CheckpointFixture, "a lock that somebody keeps is an error after the patience") {
  const auto fence = CheckpointFence::claim(folder_.path(), attempt(0));
  const auto held = fence.enter();
  CHECK_THROWS_WITH(
      CheckpointFence::claim(folder_.path(), attempt(0), std::chrono::milliseconds{1}),
      contains(".fence.lock") && contains("end it"));
}

}  // namespace
}  // namespace ddprun::sdk
