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

}  // namespace
}  // namespace ddprun
