#include "agent/output/log_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

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

/// All files of a log, the oldest first.
std::string rotated(const ScratchFolder& folder) {
  std::string text;
  for (const char* name : {"log.3", "log.2", "log.1", "log"}) text += content(folder / name);
  return text;
}

TEST_CASE("LogFile is rotated between lines, and no byte is lost as long as there are files") {
  ScratchFolder folder;
  auto file = LogFile::open(folder / "log", {.bytes_max = 20, .files_max = 3});
  REQUIRE(file.has_value());
  std::string text;
  for (int i = 0; i < 7; ++i) {
    file->write("line ");
    file->write(std::to_string(i) + "\n");
    text += "line " + std::to_string(i) + "\n";
  }
  CHECK(rotated(folder) == text);
  CHECK(content(folder / "log.2") == "line 0\nline 1\nline 2\n");  // it had begun there
  CHECK(content(folder / "log") == "line 6\n");
  CHECK_FALSE(std::filesystem::exists(folder / "log.3"));
}

TEST_CASE("LogFile takes no more of the disk than its rule allows") {
  ScratchFolder folder;
  std::ofstream{folder / "log"} << "of the first attempt\n";
  auto file = LogFile::open(folder / "log", {.bytes_max = 20, .files_max = 2});
  REQUIRE(file.has_value());
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += std::to_string(1000 + i) + "\n";
  file->write(lines);
  CHECK(content(folder / "log.1") == "1992\n1993\n1994\n1995\n");
  CHECK(content(folder / "log") == "1996\n1997\n1998\n1999\n");
  CHECK_FALSE(std::filesystem::exists(folder / "log.2"));
}

TEST_CASE("LogFile that cannot be rotated grows on, and says so once") {
  const CapturedLog log;
  ScratchFolder folder;
  std::filesystem::create_directories(folder / "log.1/in the way");
  auto file = LogFile::open(folder / "log", {.bytes_max = 10, .files_max = 3});
  REQUIRE(file.has_value());
  std::filesystem::create_directory(folder / "log.2");
  std::ofstream{folder / "log.2/full"} << "x";
  for (int i = 0; i < 5; ++i) file->write("a line\n");
  CHECK(content(folder / "log") == "a line\na line\na line\na line\na line\n");
  CHECK_THAT(log.text(), contains("error: cannot rotate the log file"));
  CHECK_THAT(log.text(), contains("it grows on"));
  CHECK(std::ranges::count(log.text(), '\n') == 1);
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
