#include "worker_sdk/checkpoint_files/atomic_file.hpp"

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

namespace ddprun::sdk {
namespace {

using Calls = std::vector<std::string>;

TEST_CASE("a file's bytes are durable before it gets its name, and then the name is") {
  const ScratchFolder folder;
  const DiskCalls calls{folder.path()};
  AtomicFile file{folder / "x"};
  file.write("12", 2);
  file.write("3", 1);
  CHECK(calls.all().empty());
  file.commit();
  CHECK(calls.all() == Calls{"fsync .x.tmp", "rename .x.tmp -> x", "fsync ."});
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
  CHECK_FALSE(fs::exists(folder / ".x.tmp"));
}

TEST_CASE("a file in a folder that is not there is an error that names it") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH((AtomicFile{folder / "none" / "x"}),
                    contains("cannot create") && contains("none/x': No such file"));
}

}  // namespace
}  // namespace ddprun::sdk
