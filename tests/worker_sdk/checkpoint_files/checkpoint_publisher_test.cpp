#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE_METHOD(CheckpointFixture, "what is published is complete, and holds what was given") {
  auto to = publisher();
  publish(to, 3);
  const auto entry = verify_checkpoint(path_of(3));
  REQUIRE(entry.state == CheckpointState::kComplete);
  CHECK(entry.manifest->epoch == 1);
  CHECK(entry.manifest->world_size == 4);
  CHECK(entry.manifest->metadata.at("lr") == "0.1");
  CHECK(contents(path_of(3) / kModelFile) == one_tensor("model of step 3"));
  CHECK(contents(path_of(3) / kOptimizerFile) == one_tensor(std::string(10'000'000, 'd')));
  CHECK(list_unfinished(folder_.path()).empty());
}

/// Where `publish()` writes the files of `step`, seen from the folder of checkpoints.
std::string unfinished(const fs::path& folder, std::int64_t step, const WorkerEnv& env) {
  return unfinished_name(step, CheckpointFence::claim(folder, env).token());
}

TEST_CASE_METHOD(CheckpointFixture,
                 "files and folder are durable before the rename, which is then") {
  auto to = publisher();
  const std::string temporary = unfinished(folder_.path(), 1, attempt(0));
  const DiskCalls calls{folder_.path()};
  publish(to, 1);
  const std::size_t sealed = calls.place_of("fsync " + temporary);
  for (const char* name : {kModelFile, kOptimizerFile, kManifestFile})
    CHECK(calls.place_of("fsync " + temporary + "/" + name) < sealed);
  const std::size_t named = calls.place_of("rename " + temporary + " -> " + checkpoint_name(1));
  CHECK(sealed < named);
  CHECK(named < calls.place_of("fsync ."));
}

TEST_CASE_METHOD(CheckpointFixture, "the manifest, which vouches for the files, is written last") {
  auto to = publisher();
  const std::string file = "fsync " + unfinished(folder_.path(), 1, attempt(0)) + "/";
  const DiskCalls calls{folder_.path()};
  publish(to, 1);
  for (const char* name : {kModelFile, kOptimizerFile})
    CHECK(calls.place_of(file + name) < calls.place_of(file + kManifestFile));
}

TEST_CASE_METHOD(CheckpointFixture, "a checkpoint of the same step is replaced at one stroke") {
  auto to = publisher();
  publish(to, 1);
  const std::string temporary = unfinished(folder_.path(), 1, attempt(0));
  const DiskCalls calls{folder_.path()};
  publish(to, 1);
  const std::size_t named = calls.place_of("exchange " + temporary + " <-> " + checkpoint_name(1));
  CHECK(calls.place_of("fsync " + temporary) < named);
  CHECK(named < calls.place_of("fsync ."));
}

TEST_CASE_METHOD(CheckpointFixture, "an old checkpoint goes only when the new one is durable") {
  auto to = publisher({.retention = {.keep = 1}});
  publish(to, 1);
  const std::string hidden = unfinished(folder_.path(), 1, attempt(0));
  const DiskCalls calls{folder_.path()};
  publish(to, 2);
  CHECK(calls.place_of("fsync .") <
        calls.place_of("rename " + checkpoint_name(1) + " -> " + hidden));
  CHECK(complete() == Steps{2});
}

TEST_CASE_METHOD(CheckpointFixture, "without durability nothing waits for the disk") {
  auto to = publisher({.durability = Durability::kNone});
  const DiskCalls calls{folder_.path()};
  publish(to, 1);
  CHECK(calls.count("fsync") == 0);
  CHECK(complete() == Steps{1});
}

TEST_CASE_METHOD(CheckpointFixture, "incomplete ones go with the old ones, newer ones stay") {
  auto to = publisher({.retention = {.keep = 2}});
  for (const int step : {1, 2, 3}) {
    fs::create_directory(path_of(10 * step));  // incomplete: without a manifest
    publish(to, 10 * step + 1);
  }
  CHECK(complete() == Steps{31, 21});
  CHECK(fs::exists(path_of(30)));
  CHECK_FALSE(fs::exists(path_of(20)));
  CHECK_FALSE(fs::exists(path_of(10)));
}

TEST_CASE_METHOD(CheckpointFixture, "old ones go when new ones come") {
  auto to = publisher({.retention = {.keep = 2, .keep_every = 3}});
  for (int step = 1; step <= 6; ++step) publish(to, step);
  CHECK(complete() == Steps{6, 5, 3});
}

TEST_CASE_METHOD(CheckpointFixture, "one that is known to be damaged does not count as kept") {
  auto to = publisher({.retention = {.keep = 2}});
  for (const int step : {1, 2}) publish(to, step);
  to.distrust(2);
  publish(to, 3);
  CHECK(complete() == Steps{3, 2, 1});
}

TEST_CASE_METHOD(CheckpointFixture, "a checkpoint of the same step is replaced") {
  auto to = publisher();
  publish(to, 1);
  flip_byte(path_of(1) / kModelFile, 0);
  CHECK(complete().empty());
  publish(to, 1);
  CHECK(complete() == Steps{1});
  CHECK(list_unfinished(folder_.path()).empty());
}

TEST_CASE_METHOD(CheckpointFixture, "a worker killed at any stage leaves a complete checkpoint") {
  Steps left;
  int stages = 0;
  for (bool killed = true; killed; ++stages) {
    const ScratchFolder folder;
    const auto open = [&](const StageHook& hook) {
      return CheckpointPublisher{
          folder.path(),
          CheckpointFence::claim(folder.path(), attempt(0)),
          {.retention = {.keep = 1}, .durability = Durability::kFsync, .hook = hook}};
    };
    auto before = open({});
    publish(before, 1);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int stage = 0;
      auto dying = open([&](const std::string&) {
        if (stage++ == stages) raise(SIGKILL);
      });
      publish(dying, 2);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    killed = WIFSIGNALED(status);
    REQUIRE((killed || WEXITSTATUS(status) == 0));

    Steps found;
    for (const auto& entry : list_checkpoints(folder.path()))
      if (verify_checkpoint(entry.path).state == CheckpointState::kComplete)
        found.push_back(entry.step);
    INFO("killed at stage " << stages);
    REQUIRE_FALSE(found.empty());
    left.push_back(found.front());

    auto after = open({});  // the next attempt clears away what was left, and goes on
    after.remove_unfinished();
    CHECK(list_unfinished(folder.path()).empty());
    publish(after, 3);
    CHECK(verify_checkpoint(folder.path() / checkpoint_name(3)).state ==
          CheckpointState::kComplete);
  }
  CHECK(stages > 20);
  CHECK(std::ranges::is_sorted(left));  // the old one up to the rename, the new one from there on
  CHECK(left.front() == 1);
  CHECK(left.back() == 2);
}

TEST_CASE_METHOD(CheckpointFixture, "what a killed worker left is cleared away, and nothing else") {
  const auto leftover = folder_ / ".checkpoint-000000000007.1-2-0.tmp";
  fs::create_directory(leftover);
  std::ofstream{leftover / kModelFile} << "half";
  std::ofstream{folder_ / ".something.tmp"} << "not ours";
  REQUIRE(list_unfinished(folder_.path()).size() == 1);
  publisher().remove_unfinished();
  CHECK_FALSE(fs::exists(leftover));
  CHECK(fs::exists(folder_ / ".something.tmp"));
}

TEST_CASE_METHOD(CheckpointFixture, "a file too large is an error that names it; older ones stay") {
  auto to = publisher({.retention = {.keep = 1}});
  publish(to, 1);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{5'000'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  CHECK_THROWS_WITH(publish(to, 2), contains("optimizer.safetensors': File too large"));
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(complete() == Steps{1});
  CHECK(list_unfinished(folder_.path()).empty());
}

TEST_CASE_METHOD(CheckpointFixture,
                 "a full disk is an error that names the file; nothing is lost") {
  const auto mounted = mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=25m");
  if (mounted != 0) {
    WARN("only root can fill a disk of its own");
    SUCCEED();
    return;
  }
  struct Unmount {
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
    fs::path path;
  } const unmount{folder_.path()};
  auto to = publisher({.retention = {.keep = 1}});
  publish(to, 1);  // 10 MB
  const std::string filler(10'000'000, 'x');
  std::ofstream{folder_ / "filler"} << filler;
  CHECK_THROWS_WITH(publish(to, 2), contains("No space left on device"));
  CHECK(complete() == Steps{1});
  CHECK(list_unfinished(folder_.path()).empty());
  fs::remove(folder_ / "filler");
  publish(to, 3);
  CHECK(complete() == Steps{3});
}

TEST_CASE_METHOD(CheckpointFixture, "a retention that makes no sense is refused") {
  CHECK_THROWS_WITH(publisher({.retention = {.keep = 0}}), contains("keep is 0, expected 1"));
  CHECK_THROWS_WITH(publisher({.retention = {.keep_every = -1}}), contains("keep_every is -1"));
  auto to = publisher();
  CHECK_THROWS_WITH(publish(to, -1), contains("step -1, expected 0 or more"));
}

}  // namespace
}  // namespace ddprun::sdk
