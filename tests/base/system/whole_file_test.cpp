#include "base/system/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>

#include "base/descriptor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class WholeFileFixture {
 protected:
  fs::path path(const char* name) const { return scratch_ / name; }

  ScratchFolder scratch_;
};

TEST_CASE_METHOD(WholeFileFixture, "a file is replaced, and nothing else is left in its folder") {
  REQUIRE(write_whole(path("file"), "one").has_value());
  REQUIRE(write_whole(path("file"), "two").has_value());
  CHECK(content(path("file")) == "two");
  CHECK(std::distance(fs::directory_iterator{path(".")}, {}) == 1);
}

TEST_CASE_METHOD(WholeFileFixture, "a pipe stays a pipe, and its reader gets the text") {
  REQUIRE(mkfifo(path("pipe").c_str(), 0600) == 0);
  const Descriptor reader{open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK)};
  REQUIRE(write_whole(path("pipe"), "a report").has_value());
  std::array<char, 20> bytes{};
  REQUIRE(read(reader.number(), bytes.data(), bytes.size()) == 8);
  CHECK(std::string{bytes.data(), 8} == "a report");
  CHECK(fs::is_fifo(path("pipe")));
}

TEST_CASE_METHOD(WholeFileFixture, "a pipe that nobody reads is an error, and no wait") {
  REQUIRE(mkfifo(path("pipe").c_str(), 0600) == 0);
  CHECK_FALSE(write_whole(path("pipe"), "a report").has_value());
}

TEST_CASE_METHOD(WholeFileFixture, "a link stays, and leads to what was written") {
  fs::create_symlink("target", path("link"));
  REQUIRE(write_whole(path("target"), "one").has_value());
  REQUIRE(write_whole(path("link"), "two").has_value());
  CHECK(fs::is_symlink(path("link")));
  CHECK(content(path("target")) == "two");
  fs::create_symlink("/dev/null", path("null"));
  REQUIRE(write_whole(path("null"), "gone").has_value());
  CHECK(fs::is_symlink(path("null")));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE_METHOD(WholeFileFixture, "a file is read whole, or not at all") {
  REQUIRE(write_whole(path("file"), std::string(40'000, 'x')).has_value());
  CHECK(read_text(path("file"), 40'000).value() == std::string(40'000, 'x'));
  const auto longer = read_text(path("file"), 39'999);
  REQUIRE_FALSE(longer.has_value());
  CHECK(longer.error().kind == Error::Kind::kInvalid);
  CHECK(longer.error().message == "it has more than 39999 bytes");
  const auto absent = read_text(path("absent"), 10);
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().kind == Error::Kind::kNotFound);
  CHECK(read_text(path("."), 10, ReadFrom::kPipesToo).error().message == "it is a directory");
}

TEST_CASE_METHOD(WholeFileFixture, "a pipe is read only for callers that may wait for it") {
  Pipe pipe;
  const fs::path name = "/proc/self/fd/" + std::to_string(pipe.reader());
  REQUIRE(write(pipe.writer(), "told", 4) == 4);
  pipe.close_writer();
  CHECK(read_text(name, 10).error().message == "it is no regular file");
  CHECK(read_text(name, 10, ReadFrom::kPipesToo).value() == "told");
}

TEST_CASE("a file of the kernel that cannot be read when it is open has no text") {
  CHECK_FALSE(text_if_any("/proc/self/stat").empty());
  CHECK(text_if_any("/proc/self/task").empty());  // as of a process that has just ended
  CHECK(text_if_any("/proc/self/mem").empty());
  CHECK(text_if_any("/proc/0/stat").empty());
}

}  // namespace
}  // namespace ddprun
