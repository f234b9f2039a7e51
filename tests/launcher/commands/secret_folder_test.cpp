#include "launcher/commands/secret_folder.hpp"

#include <filesystem>
#include <fstream>

#include "rendezvous/transport/fresh_secret.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SecretFolderFixture {
 protected:
  SecretFolderFixture() { fs::permissions(folder_.path(), fs::perms::owner_all); }

  Secret write(const std::string& run_id, mode_t mode = 0600) {
    const Secret secret = fresh_secret().value();
    const fs::path fresh = elsewhere_ / run_id;
    std::ofstream{fresh} << to_text(secret);
    REQUIRE(chmod(fresh.c_str(), mode) == 0);
    fs::rename(fresh, folder_ / run_id);
    return secret;
  }
  SecretFolder open() {
    auto folder = SecretFolder::open(folder_.path().string());
    REQUIRE(folder.has_value());
    return std::move(*folder);
  }
  static std::string identity(const Secret& secret, const std::string& run_id) {
    return job_key(secret, run_id).identity;
  }

  CapturedLog log_;
  ScratchFolder folder_;
  ScratchFolder elsewhere_;
  TimePoint now_ = Clock::now();
};

TEST_CASE_METHOD(SecretFolderFixture,
                 "a key is found by the name that its secret and run id give") {
  const Secret one = write("one");
  const Secret two = write("two");
  SecretFolder folder = open();
  CHECK(folder.size() == 2);
  const auto found = folder.find(identity(one, "one"), now_);
  REQUIRE(found.has_value());
  CHECK(found->run_id == "one");
  CHECK(found->key == job_key(one, "one").key);
  CHECK_FALSE(folder.find(identity(one, "two"), now_).has_value());
  CHECK_FALSE(folder.find("", now_).has_value());
}

TEST_CASE_METHOD(SecretFolderFixture, "a file that comes, changes or goes counts at once") {
  SecretFolder folder = open();
  const Secret first = write("job");
  CHECK(folder.find(identity(first, "job"), now_).has_value());
  const Secret second = write("job");
  CHECK_FALSE(folder.find(identity(first, "job"), now_).has_value());
  CHECK(folder.find(identity(second, "job"), now_).has_value());
  fs::remove(folder_ / "job");
  CHECK_FALSE(folder.find(identity(second, "job"), now_).has_value());
}

TEST_CASE_METHOD(SecretFolderFixture, "a file that is written over counts a second later") {
  const Secret first = write("job");
  SecretFolder folder = open();
  const Secret second = fresh_secret().value();
  std::ofstream{folder_ / "job"} << to_text(second) << "\n";
  CHECK_FALSE(folder.find(identity(first, "job"), now_ + 1s).has_value());
  CHECK(folder.find(identity(second, "job"), now_ + 2s).has_value());
}

TEST_CASE_METHOD(SecretFolderFixture, "what is no secret is passed over, and said once") {
  const Secret good = write("good");
  const Secret open_to_all = write("open", 0644);
  const Secret hidden = write(".hidden");
  fs::create_symlink(folder_ / "good", folder_ / "link");
  fs::create_directory(folder_ / "folder");
  SecretFolder folder = open();
  CHECK(folder.size() == 1);
  CHECK_FALSE(folder.find(identity(open_to_all, "open"), now_).has_value());
  CHECK_FALSE(folder.find(identity(hidden, ".hidden"), now_ + 2s).has_value());
  CHECK_FALSE(folder.find(identity(good, "link"), now_ + 4s).has_value());
  const std::string text = log_.text();
  CHECK_THAT(text, contains("open' may be read or written by others"));
  CHECK_THAT(text, contains("link' is a symbolic link"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE_METHOD(SecretFolderFixture,
                 "a folder that is none, or that others may write to, is refused") {
  const auto missing = SecretFolder::open((folder_ / "missing").string());
  REQUIRE(missing.has_error());
  CHECK_THAT(missing.error().message, contains("cannot be opened"));
  fs::permissions(folder_.path(), fs::perms::group_write, fs::perm_options::add);
  const auto open_to_all = SecretFolder::open(folder_.path().string());
  REQUIRE(open_to_all.has_error());
  CHECK_THAT(open_to_all.error().message, contains("may be written to by others"));
}

}  // namespace
}  // namespace ddprun
