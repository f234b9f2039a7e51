// Folders of checkpoints, without LibTorch: what is written, kept, believed, and left by a crash.

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

WorkerEnv attempt(int number, const std::string& run_id = "job") {
  WorkerEnv env;
  env.restart_count = number;
  env.run_id = run_id;
  return env;
}

class CheckpointFixture {
 protected:
  CheckpointPublisher publisher(PublisherOptions options = {}, const WorkerEnv& env = attempt(0)) {
    return {folder_.path(), CheckpointFence::claim(folder_.path(), env), std::move(options)};
  }

  /// Publishes a checkpoint of two files whose contents follow from `step`.
  static void publish(CheckpointPublisher& to, std::int64_t step) {
    const std::string model = "model of step " + std::to_string(step);
    const std::string optimizer(10'000'000, static_cast<char>('a' + step));  // several chunks
    to.publish({.step = step, .epoch = step / 2, .world_size = 4, .metadata = {{"lr", "0.1"}}},
               {{kModelFile, {bytes_of(model).first(5), bytes_of(model).subspan(5)}},
                {kOptimizerFile, {bytes_of(optimizer)}}});
  }

  fs::path path_of(std::int64_t step) const { return folder_ / checkpoint_name(step); }

  /// Of all complete ones, hashes compared, newest first.
  Steps complete() const {
    Steps steps;
    for (const auto& entry : list_checkpoints(folder_.path()))
      if (verify_checkpoint(entry.path).state == CheckpointState::kComplete)
        steps.push_back(entry.step);
    return steps;
  }

  static void flip_byte(const fs::path& file, std::streamoff position) {
    std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
    stream.seekg(position);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(position);
    stream.put(byte);
    REQUIRE(stream.good());
  }

  ScratchFolder folder_;
};

TEST_CASE("a SHA-256 is that of sha256sum") {
  Sha256 sha256;
  sha256.update("ab", 2);
  sha256.update("c", 1);
  CHECK(sha256.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a manifest comes back as it was") {
  const CheckpointManifest manifest{.step = 42,
                                    .epoch = 3,
                                    .world_size = 8,
                                    .run_id = "job \"7\"",
                                    .attempt = 2,
                                    .created_unix_ms = 1'790'000'000'123,
                                    .sampler = SamplerState{3, 1200},
                                    .metadata = {{"arguments", "--lr 0.1\n"}},
                                    .files = {{"model.safetensors", 5, "ab"}, {"x", 7, "cd"}}};
  CHECK(decode_manifest(encode(manifest)) == manifest);
  CHECK(manifest.bytes() == 12);
  CHECK_THROWS_WITH(encode(CheckpointManifest{.metadata = {{"x", "\xff"}}}),
                    contains("metadata must be UTF-8"));
}

TEST_CASE("no byte of a manifest changes unseen") {
  const CheckpointManifest manifest{.step = 7, .files = {{"model.safetensors", 5, "ab"}}};
  const std::string text = encode(manifest);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO(damaged);
    CHECK_THROWS_AS(decode_manifest(damaged), std::runtime_error);
  }
}

TEST_CASE("a manifest cannot name files elsewhere") {
  for (const std::string name : {"../x", "/etc/passwd", "..", ""})
    CHECK_THROWS_WITH(decode_manifest(encode(CheckpointManifest{.files = {{name, 1, "ab"}}})),
                      contains("is no file's name"));
}

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

TEST_CASE_METHOD(CheckpointFixture, "what is published is complete, and holds what was given") {
  auto to = publisher();
  publish(to, 3);
  const auto entry = verify_checkpoint(path_of(3));
  REQUIRE(entry.state == CheckpointState::kComplete);
  CHECK(entry.manifest->epoch == 1);
  CHECK(entry.manifest->world_size == 4);
  CHECK(entry.manifest->metadata.at("lr") == "0.1");
  CHECK(contents(path_of(3) / kModelFile) == "model of step 3");
  CHECK(contents(path_of(3) / kOptimizerFile) == std::string(10'000'000, 'd'));
  CHECK(list_unfinished(folder_.path()).empty());
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

TEST_CASE_METHOD(CheckpointFixture, "rounds order claims where ddprun tells them") {
  WorkerEnv env = attempt(0);
  env.round = 2;
  auto straggler = publisher({}, env);
  env.round = 3;  // a node was lost, which is no new attempt
  auto current = publisher({}, env);
  CHECK_THROWS_AS(publish(straggler, 1), FencedOffError);
  publish(current, 1);
}

TEST_CASE_METHOD(CheckpointFixture, "whose claim somebody has removed is told to start again") {
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

TEST_CASE_METHOD(CheckpointFixture, "a lock that somebody keeps is an error after the patience") {
  const auto fence = CheckpointFence::claim(folder_.path(), attempt(0));
  const auto held = fence.enter();
  CHECK_THROWS_WITH(
      CheckpointFence::claim(folder_.path(), attempt(0), std::chrono::milliseconds{1}),
      contains(".fence.lock") && contains("end it"));
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
    return;
  }
  struct Unmount {
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
    fs::path path;
  } const unmount{folder_.path()};
  auto to = publisher({.retention = {.keep = 1}});
  publish(to, 1);  // of 10 MB
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
