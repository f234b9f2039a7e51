#include "launcher/settings/program_files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream{path} << text;
}

TEST_CASE("the ends of a file are read, and of a large one no more") {
  const ScratchFolder folder;
  write_file(folder / "small", "#!/bin/sh\n");
  CHECK(file_ends(folder / "small").head == "#!/bin/sh\n");
  CHECK(file_ends(folder / "small").tail == "#!/bin/sh\n");
  write_file(folder / "large", "first" + std::string(1 << 20, '.') + "last");
  const FileEnds ends = file_ends(folder / "large");
  CHECK(ends.head.starts_with("first"));
  CHECK(ends.tail.ends_with("last"));
  CHECK(ends.head.size() + ends.tail.size() < 100'000);
}

TEST_CASE("nobody waits for a pipe, and what is no file has no ends") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder.path() / "app");
  for (const char* name : {"pipe", "app", "missing"}) {
    CHECK(file_ends(folder / name).head.empty());
    CHECK(file_ends(folder / name).tail.empty());
  }
  CHECK(file_ends("/dev/zero").head.empty());
}

}  // namespace
}  // namespace ddprun
