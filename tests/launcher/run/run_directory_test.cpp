#include "launcher/run/run_directory.hpp"

#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator{folder}, fs::directory_iterator{});
}

TEST_CASE("a run's directory is gone with all in it when the run ends") {
  const ScratchFolder folder;
  fs::path path;
  {
    const auto directory = RunDirectory::make(folder / "new" / "logs", "job");
    REQUIRE(directory.has_value());
    path = directory->path();
    CHECK(path.filename().string().starts_with("job_"));
    CHECK(fs::is_directory(path));
    fs::create_directories(path / "attempt_0");
    std::ofstream{path / "attempt_0" / "stdout.log"} << "text";
  }
  CHECK_FALSE(fs::exists(path));
  CHECK(fs::is_directory(folder / "new" / "logs"));
}

TEST_CASE("a run's directory that is kept stays, and another run has another") {
  const ScratchFolder folder;
  for (int i = 0; i < 2; ++i) {
    auto directory = RunDirectory::make(folder.path(), "job");
    REQUIRE(directory.has_value());
    directory->keep();
  }
  CHECK(entries(folder.path()) == 2);
}

TEST_CASE("a run's directory that was moved is removed once, by its new owner") {
  const ScratchFolder folder;
  auto first = RunDirectory::make(folder.path(), "job");
  REQUIRE(first.has_value());
  {
    const RunDirectory second = std::move(*first);
    CHECK(fs::is_directory(second.path()));
  }
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("a job's name may hold slashes, and its directory is absolute") {
  const ScratchFolder folder;
  const auto directory = RunDirectory::make(fs::relative(folder.path()), "team/job/7");
  REQUIRE(directory.has_value());
  CHECK(directory->path().filename().string().starts_with("team_job_7_"));
  CHECK(directory->path().is_absolute());
  CHECK(fs::equivalent(directory->path().parent_path(), folder.path()));
}

TEST_CASE("a file in the place of the logs' directory is named") {
  const ScratchFolder folder;
  std::ofstream{folder / "logs"} << "text";
  const auto directory = RunDirectory::make(folder / "logs", "job");
  REQUIRE(directory.has_error());
  CHECK(directory.error().kind == Error::Kind::kInvalid);
  CHECK_THAT(directory.error().message,
             contains("cannot make the directory '" + (folder / "logs").string() + "'"));
}

}  // namespace
}  // namespace ddprun
