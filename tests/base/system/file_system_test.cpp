#include "base/system/file_system.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the file system of a path is that of the innermost mount") {
  const std::string mounts =
      "22 1 8:1 / / rw - ext4 /dev/a rw\n"
      "23 22 0:5 / /home rw,nosuid shared:1 - nfs4 server:/home rw\n"
      "24 22 0:6 / /home2 rw - xfs /dev/b rw\n";
  CHECK(file_system_of("/home/ada/run", mounts) == "nfs4");
  CHECK(file_system_of("/home", mounts) == "nfs4");
  CHECK(file_system_of("/homeless", mounts) == "ext4");
  CHECK(file_system_of("/", "").empty());
}

TEST_CASE("a file system of another machine or process is distinguished from a disk") {
  for (const char* const type : {"nfs4", "lustre", "fuse", "fuse.sshfs"})
    CHECK(is_served_type(type));
  for (const char* const type : {"ext4", "overlay", "tmpfs", "fuseblk", ""})
    CHECK_FALSE(is_served_type(type));
}

TEST_CASE("a folder is served where the innermost mount above its path is") {
  const std::string mounts =
      "22 1 8:1 / / rw - ext4 /dev/a rw\n"
      "23 22 0:5 / /home rw - nfs4 server:/home rw\n";
  CHECK(is_served("/home/ada//tmp/", mounts));
  CHECK(is_served("/tmp/../home", mounts));
  CHECK_FALSE(is_served("/tmp/", mounts));
  CHECK_FALSE(is_served("/home/../tmp", mounts));
}

}  // namespace
}  // namespace ddprun
