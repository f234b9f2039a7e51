#include "base/machine/sysfs_files.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

TEST_CASE("the names in a folder are found, and none where there is no folder") {
  const ScratchFolder folder;
  for (const char* name : {"b.py", "a.py"}) std::ofstream{folder / name};
  CHECK(names_in(folder.path()) == std::vector<std::string>{"a.py", "b.py"});
  CHECK(names_in(folder / "missing").empty());
}

TEST_CASE("the first line of a file is read, and nobody waits for a pipe") {
  const ScratchFolder folder;
  std::ofstream{folder / "lines"} << "one\ntwo\n";
  std::ofstream{folder / "endless"} << "one";
  std::ofstream{folder / "long"} << "1\n" << std::string(kSysfsFileBytesMax, 'x');
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(first_line(folder / "lines") == "one");
  CHECK(first_line(folder / "endless") == "one");
  CHECK_FALSE(first_line(folder / "long").has_value());
  CHECK_FALSE(first_line(folder / "pipe").has_value());
  CHECK(line_of(folder / "missing").empty());
}

TEST_CASE("a number is found behind its name at the beginning of a line") {
  const std::string text = "oom 2\noom_kill 4\nMemTotal:  131072 kB\nnot oom_other 5\n";
  CHECK(number_behind("oom_kill", text) == 4);
  CHECK(number_behind("MemTotal:", text) == 131'072);
  CHECK_FALSE(number_behind("oom_other", text).has_value());
}

}  // namespace
}  // namespace ddprun
