#include "agent/introspection/watch_folder.hpp"

#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the folder is private, has the hook, and goes when it is not needed") {
  const ScratchFolder scratch;
  fs::path path;
  {
    const auto folder = WatchFolder::make(scratch.path());
    REQUIRE(folder.has_value());
    path = folder->path();
    CHECK(path.parent_path() == scratch.path());
    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
    CHECK(fs::file_size(path / "sitecustomize.py") > 1000);
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("where a socket's path would be too long it is elsewhere") {
  const auto folder = WatchFolder::make("/tmp/" + std::string(90, 'x'));
  REQUIRE(folder.has_value());
  CHECK(folder->path().parent_path() == "/tmp");
}

TEST_CASE("a worker's files are those of the process that has opened a server") {
  const ScratchFolder scratch;
  const auto folder = WatchFolder::make(scratch.path());
  REQUIRE(folder.has_value());
  const auto touch = [&](const std::string& name) { std::ofstream{folder->path() / name}; };
  CHECK_FALSE(folder->opened_by("1.0"));
  touch("1.0.100.stacks");
  touch("1.10.7.sock");  // another worker's
  CHECK(folder->opened_by("1.0")->pid == 100);
  CHECK(folder->opened_by("1.0")->socket.empty());
  touch("1.0.101.stacks");
  touch("1.0.101.sock");
  touch("1.0.102.stacks");
  const auto opened = folder->opened_by("1.0");
  REQUIRE(opened);
  CHECK(opened->pid == 101);
  CHECK(opened->socket.filename() == "1.0.101.sock");
  CHECK(opened->stacks.filename() == "1.0.101.stacks");
  folder->clear();
  CHECK_FALSE(folder->opened_by("1.0"));
  CHECK(fs::exists(folder->path() / "sitecustomize.py"));
}

}  // namespace
}  // namespace ddprun
