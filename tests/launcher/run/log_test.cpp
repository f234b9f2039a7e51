#include "launcher/run/log.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

// A console that is a file, and the log of others put back at the end.
class LogFixture {
 protected:
  ~LogFixture() {
    spdlog::set_default_logger(before_);
    close(fd_);
  }
  /// What is shown at this level of one message of each kind.
  std::string shown(const std::optional<std::string>& level) {
    set_up_log(console_, level);
    const auto from = text().size();
    spdlog::debug("d");
    spdlog::info("i");
    spdlog::warn("w");
    spdlog::error("e");
    return text().substr(from);
  }
  std::string text() {
    console_.flush_blocking();
    std::ifstream file{path_};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "console";
  int fd_ = open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  boost::asio::io_context io_{1};
  Console console_{io_.get_executor(), fd_};
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_CASE_METHOD(LogFixture, "LOGLEVEL says how much is shown, and warnings are what is usual") {
  const std::string e = "ddprun: e\n", w = "ddprun: w\n" + e, i = "ddprun: i\n" + w;
  CHECK(shown(std::nullopt) == w);
  CHECK(shown("DEBUG") == "ddprun: d\n" + i);
  CHECK(shown("info") == i);
  CHECK(shown("WARNING") == w);
  CHECK(shown("error") == e);
  CHECK(shown("CRITICAL") == e);
  CHECK(shown("loud") == w);
}

TEST_CASE_METHOD(LogFixture, "a message begins a line of its own") {
  set_up_log(console_, std::nullopt);
  console_.write("half a line");
  spdlog::warn("w");
  CHECK(text() == "half a line\nddprun: w\n");
}

TEST_CASE_METHOD(LogFixture, "a message is one line, and gives the terminal no orders") {
  set_up_log(console_, std::nullopt);
  spdlog::warn("{}: stopping all workers", "\x1b]0;owned\a\nddprun: all is well, größer");
  CHECK(text() ==
        "ddprun: \\x1b]0;owned\\x07\\x0addprun: all is well, größer: stopping all workers\n");
}

}  // namespace
}  // namespace ddprun
