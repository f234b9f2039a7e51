#include "worker_sdk/checkpoint_files/atomic_file.hpp"

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

namespace ddprun::sdk {
namespace {

using Calls = std::vector<std::string>;

/// The temporary names that are in the folder.
std::vector<fs::path> temporary_files(const ScratchFolder& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator{folder.path()})
    if (entry.path().extension() == AtomicFile::kTemporarySuffix) found.push_back(entry.path());
  return found;
}

TEST_CASE("a file's bytes are durable before it gets its name, and then the name is") {
  const ScratchFolder folder;
  const DiskCalls calls{folder.path()};
  AtomicFile file{folder / "x"};
  file.write("12", 2);
  file.write("3", 1);
  CHECK(calls.all().empty());
  REQUIRE(temporary_files(folder).size() == 1);
  const std::string temporary = temporary_files(folder).front().filename().string();
  file.commit();
  CHECK(calls.all() == Calls{"fsync " + temporary, "rename " + temporary + " -> x", "fsync ."});
  CHECK(contents(folder / "x") == "123");
}

TEST_CASE("a file that is not committed leaves the one before, and nothing else") {
  const ScratchFolder folder;
  std::ofstream{folder / "x"} << "before";
  {
    AtomicFile file{folder / "x"};
    file.write("after", 5);
  }
  CHECK(contents(folder / "x") == "before");
  CHECK(temporary_files(folder).empty());
}

TEST_CASE("nobody can foresee the temporary name") {
  const ScratchFolder folder;
  const AtomicFile first{folder / "x"};
  const auto one = temporary_files(folder);
  const AtomicFile second{folder / "x"};
  REQUIRE(one.size() == 1);
  CHECK(temporary_files(folder).size() == 2);
  CHECK(one.front().filename().string().size() == std::string{".x.0123456789abcdef.tmp"}.size());
}

TEST_CASE("of two who write a file each does so completely, and the last one counts") {
  const ScratchFolder folder;
  AtomicFile first{folder / "x"};
  first.write("first", 5);
  AtomicFile second{folder / "x"};  // takes nothing away from the first
  second.write("second", 6);
  second.commit();
  first.write(" and last", 9);
  first.commit();
  CHECK(contents(folder / "x") == "first and last");
  CHECK(temporary_files(folder).empty());
}

TEST_CASE("what a killed process has left is removed, and nothing else") {
  const ScratchFolder folder;
  std::ofstream{folder / ".x.0123456789abcdef.tmp"} << "left";
  std::ofstream{folder / ".x.short.tmp"} << "somebody else's";
  std::ofstream{folder / "victim"} << "kept";
  fs::create_symlink(folder / "victim", folder / ".x.fedcba9876543210.tmp");
  { AtomicFile file{folder / "x"}; }
  CHECK_FALSE(fs::exists(folder / ".x.0123456789abcdef.tmp"));
  CHECK(fs::exists(folder / ".x.short.tmp"));
  CHECK(contents(folder / "victim") == "kept");
}

TEST_CASE("a file in a folder that is not there is an error that names it") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH((AtomicFile{folder / "none" / "x"}),
                    contains("cannot create") && contains("none/x': No such file"));
}

}  // namespace
}  // namespace ddprun::sdk
