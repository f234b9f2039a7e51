#include "agent/output/log_file.hpp"

#include <unistd.h>

#include <fstream>
#include <optional>

#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST_CASE("LogFile goes on at the end of what is there") {
  ScratchFolder folder;
  std::ofstream{folder / "log"} << "of the first attempt\n";
  {
    auto file = LogFile::open(folder / "log");
    REQUIRE(file.has_value());
    file->write("of the second\n");
    file->write("");
    LogFile moved{std::move(*file)};
    moved.write("and its end\n");
  }
  CHECK(content(folder / "log") == "of the first attempt\nof the second\nand its end\n");
}

TEST_CASE("two that write to the same LogFile do not overwrite one another") {
  ScratchFolder folder;
  auto one = LogFile::open(folder / "log");
  auto other = LogFile::open(folder / "log");
  REQUIRE(one.has_value());
  REQUIRE(other.has_value());
  one->write("one\n");
  other->write("other\n");
  one->write("one again\n");
  CHECK(content(folder / "log") == "one\nother\none again\n");
}

TEST_CASE("LogFile's descriptor outlives it when it is handed over") {
  ScratchFolder folder;
  auto file = LogFile::open(folder / "log");
  REQUIRE(file.has_value());
  std::optional<LogFile> owner{std::move(*file)};
  const int descriptor = owner->release();
  owner.reset();
  CHECK(::write(descriptor, "x", 1) == 1);
  ::close(descriptor);
  CHECK(content(folder / "log") == "x");
}

TEST_CASE("LogFile names the file that it cannot open or write") {
  const auto absent = LogFile::open("/nonexistent/log");
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().kind == Error::Kind::kUnavailable);
  CHECK(absent.error().message ==
        "cannot open the log file '/nonexistent/log': No such file or directory");

  const CapturedLog log;
  auto full = LogFile::open("/dev/full");
  REQUIRE(full.has_value());
  full->write("one");
  const std::string told = log.text();
  CHECK_THAT(told, contains("error: cannot write to the log file '/dev/full': No space left"));
  full->write("two");
  CHECK(log.text() == told);
}

}  // namespace
}  // namespace ddprun
