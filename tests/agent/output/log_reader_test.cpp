#include "agent/output/log_reader.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream{file, std::ios::app} << text;
}

TEST_CASE("a log is read from a line near its end, and then as it grows") {
  const ScratchFolder scratch;
  const auto file = scratch / "log";
  append(file, "one\ntwo\nthree\n");
  LogReader log{file, 7};
  CHECK(log.read(100) == "three\n");
  CHECK(log.read(100).empty());
  append(file, "fo");
  CHECK(log.read(100) == "fo");
  append(file, "ur\n");
  CHECK(log.read(2) == "ur");
  CHECK(log.read(2) == "\n");
}

TEST_CASE("a log that is not there yet, or was replaced, is read from its beginning") {
  const ScratchFolder scratch;
  const auto file = scratch / "log";
  LogReader log{file, 100};
  CHECK(log.read(100).empty());
  append(file, "a long first line\n");
  CHECK(log.read(100) == "a long first line\n");
  std::filesystem::remove(file);
  append(file, "new\n");
  CHECK(log.read(100) == "new\n");
}

}  // namespace
}  // namespace ddprun
