#include "worker_sdk/checkpoint_files/hashed_file.hpp"

#include "tests/worker_sdk/checkpoint_files/checkpoint_fixture.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("a file is recorded with its name, its size and the hash of what was written") {
  const ScratchFolder folder;
  const std::string text(9'000'000, 'x');  // more than is written at once
  const auto record =
      write_hashed_file(folder / "x", {bytes_of("abc"), bytes_of(text)}, Durability::kNone);
  CHECK(record.name == "x");
  CHECK(record.bytes == 9'000'003);
  CHECK(record.sha256 == sha256_of_file(folder / "x"));
  CHECK(contents(folder / "x") == "abc" + text);
}

TEST_CASE("a file survives a power failure if that is asked for") {
  const ScratchFolder folder;
  const DiskCalls calls{folder.path()};
  write_hashed_file(folder / "lost", {bytes_of("abc")}, Durability::kNone);
  write_hashed_file(folder / "kept", {bytes_of("abc")}, Durability::kFsync);
  sync_folder(folder.path());
  CHECK(calls.all() == std::vector<std::string>{"fsync kept", "fsync ."});
}

TEST_CASE("a file that is there already is not written over") {
  const ScratchFolder folder;
  std::ofstream{folder / "x"} << "before";
  CHECK_THROWS_WITH(write_hashed_file(folder / "x", {bytes_of("after")}, Durability::kNone),
                    contains("cannot create") && contains("File exists"));
  CHECK(contents(folder / "x") == "before");
}

TEST_CASE("what cannot be read or made durable is an error that names it") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(sha256_of_file(folder / "none"), contains("cannot open") && contains("none'"));
  CHECK_THROWS_WITH(sync_folder(folder / "none"), contains("cannot open") && contains("none'"));
}

}  // namespace
}  // namespace ddprun::sdk
