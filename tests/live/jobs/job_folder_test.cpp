#include "live/jobs/job_folder.hpp"

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/support/event_loop.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class FolderFixture {
 protected:
  FolderFixture() { fs::permissions(scratch_.path(), fs::perms::owner_all); }

  std::optional<std::string> variable(const std::string& name) const {
    if (name == "XDG_RUNTIME_DIR" && has_runtime_dir_) return (scratch_ / runtime_dir_).string();
    if (name == "TMPDIR") return scratch_.path().string();
    return std::nullopt;
  }
  EnvironmentLookup environment() const {
    return [this](const std::string& name) { return variable(name); };
  }
  /// The run ids of the jobs that are found.
  std::vector<std::string> found() const {
    std::vector<std::string> ids;
    for (const FoundJob& job : find_jobs(environment()))
      if (job.folder.string().starts_with(scratch_.path().string()))
        ids.push_back(job.facts.run_id);
    return ids;
  }

  ScratchFolder scratch_;
  std::string runtime_dir_ = "run";
  bool has_runtime_dir_ = true;
  EventLoop loop_;
};

mode_t mode_of(const fs::path& path) {
  struct stat what {};
  REQUIRE(::lstat(path.c_str(), &what) == 0);
  return what.st_mode & 0777;
}

TEST_CASE_METHOD(FolderFixture, "later facts of a job replace those from before") {
  fs::create_directory(scratch_ / "run");
  auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_value());
  const auto acceptor = folder->open(loop_.executor(), {.run_id = "r1", .coordinator = "h1:1"});
  REQUIRE(acceptor.has_value());
  for (const std::string coordinator : {"h2:2", "h3:3"}) {
    REQUIRE(folder->tell({.run_id = "r1", .coordinator = coordinator}).has_value());
    REQUIRE(found() == std::vector<std::string>{"r1"});
    CHECK(find_jobs(environment()).front().facts.coordinator == coordinator);
  }
}

TEST_CASE_METHOD(FolderFixture, "a job is found while it runs, and nothing stays of it") {
  fs::create_directory(scratch_ / "run");
  {
    auto folder = JobFolder::make(environment());
    REQUIRE(folder.has_value());
    CHECK(mode_of(folder->path()) == 0700);
    CHECK(mode_of(folder->path().parent_path()) == 0700);
    CHECK(found().empty());  // it does not listen yet
    const auto acceptor = folder->open(loop_.executor(), {.run_id = "r1", .pid = 5});
    REQUIRE(acceptor.has_value());
    CHECK(mode_of(folder->path() / "job.json") == 0600);
    CHECK(found() == std::vector<std::string>{"r1"});
  }
  CHECK(found().empty());
  CHECK(fs::is_empty(scratch_ / "run"));
}

TEST_CASE_METHOD(FolderFixture,
                 "who looks for jobs takes none that is just being made for a dead one") {
  fs::create_directory(scratch_ / "run");
  std::atomic<bool> enough = false;
  std::thread looking{[&] {
    while (!enough) find_jobs(environment());
  }};
  std::size_t kept = 0;
  for (int i = 0; i < 300; ++i) {
    const auto folder = JobFolder::make(environment());
    const auto acceptor = folder ? folder->open(loop_.executor(), {.run_id = "r1", .pid = 5})
                                 : Result<JobFolder::Acceptor>{folder.error()};
    if (acceptor && fs::exists(folder->path() / "control")) ++kept;
  }
  enough = true;
  looking.join();
  CHECK(kept == 300);
}

TEST_CASE_METHOD(FolderFixture, "without a runtime folder of our own it is in the temporary one") {
  has_runtime_dir_ = GENERATE(true, false);  // true: the variable names what is not there
  auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_value());
  const std::string base = "ddprun-" + std::to_string(::geteuid());
  CHECK(folder->path().parent_path() == scratch_ / base);
}

TEST_CASE_METHOD(FolderFixture, "a folder with a long name has a socket all the same") {
  runtime_dir_ = std::string(200, 'x');
  fs::create_directory(scratch_ / runtime_dir_);
  auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_value());
  const auto acceptor = folder->open(loop_.executor(), {.run_id = "long"});
  REQUIRE(acceptor.has_value());
  const auto jobs = find_jobs(environment());
  REQUIRE(found() == std::vector<std::string>{"long"});
  CHECK(connect_to_job(loop_.executor(), jobs.front()).has_value());
}

TEST_CASE_METHOD(FolderFixture,
                 "what a killed agent has left is removed by the next search for jobs") {
  fs::create_directory(scratch_ / "run");
  auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_value());
  { const auto closed = folder->open(loop_.executor(), {.run_id = "dead"}); }
  CHECK(fs::exists(folder->path() / "control"));
  CHECK(found().empty());
  CHECK_FALSE(fs::exists(folder->path()));
}

TEST_CASE_METHOD(FolderFixture, "where a folder cannot be made, the next place does") {
  has_runtime_dir_ = false;
  const auto folder = JobFolder::make([](const std::string& name) -> std::optional<std::string> {
    if (name == "TMPDIR") return "/nonexistent";
    return std::nullopt;
  });
  REQUIRE(folder.has_value());
  CHECK(folder->path().parent_path() == "/tmp/ddprun-" + std::to_string(::geteuid()));
}

TEST_CASE_METHOD(FolderFixture, "a folder that others may read, or a link to one, is not used") {
  has_runtime_dir_ = false;
  const fs::path base = scratch_ / ("ddprun-" + std::to_string(::geteuid()));
  SECTION("others may read it") {
    fs::create_directory(base);
    fs::permissions(base, fs::perms::owner_all | fs::perms::group_read);
  }
  SECTION("it is a link") {
    fs::create_directory(scratch_ / "elsewhere");
    fs::permissions(scratch_ / "elsewhere", fs::perms::owner_all);
    fs::create_directory_symlink(scratch_ / "elsewhere", base);
  }
  SECTION("it is a file") { std::ofstream{base} << "x"; }
  const auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_error());
  CHECK_THAT(folder.error().message, contains(base.string()));
}

TEST_CASE_METHOD(FolderFixture,
                 "a file in the folder is its owner's alone, and is never overwritten") {
  fs::create_directory(scratch_ / "run");
  auto folder = JobFolder::make(environment());
  REQUIRE(folder.has_value());
  const auto path = folder->write("token", "secret");
  REQUIRE(path.has_value());
  CHECK(mode_of(*path) == 0600);
  CHECK(folder->write("token", "other").has_error());
}

}  // namespace
}  // namespace ddprun
