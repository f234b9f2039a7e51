#include "agent/output/log_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "agent/output/write_backlog.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/descriptor.hpp"
#include "base/system/linux_calls.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

/// A file that hangs as long as nobody reads what it has taken, as a disk that is gone for a while.
class SlowFile {
 public:
  explicit SlowFile(const std::filesystem::path& path) : path_{path} {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    reader_ = Descriptor{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    REQUIRE(reader_.is_open());
  }
  const std::filesystem::path& path() const { return path_; }
  std::string available() const {
    std::string text(64 * 1024, '\0');
    const ssize_t n = ::read(reader_.number(), text.data(), text.size());
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
  }

 private:
  std::filesystem::path path_;
  Descriptor reader_;
};

struct WriterFixture {
  std::shared_ptr<LogWriter::File> open(const std::filesystem::path& path) {
    auto file = writer->open(path, {});
    if (!file) FAIL(file.error().message);
    return *file;
  }
  void wait_written(const std::shared_ptr<LogWriter::File>& file) {
    loop.run(writer->written(file), "what was written");
  }
  /// Becomes true when there is room for more.
  std::shared_ptr<bool> await_room() {
    auto there = std::make_shared<bool>(false);
    start_coroutine(loop.executor(), note_room(writer, there), report_failure("waiting for room"));
    loop.poll();
    return there;
  }
  static asio::awaitable<void> note_room(std::shared_ptr<LogWriter> writer,
                                         std::shared_ptr<bool> there) {
    co_await writer->writable();
    *there = true;
  }
  /// Goes on until `done`, also where only the thread does something.
  void wait_until(const std::function<bool()>& done, const std::string& what) {
    const TimePoint deadline = Clock::now() + kTestPatience;
    for (; !done(); loop.poll())
      if (Clock::now() > deadline) FAIL("waited in vain for " << what);
  }
  void hear(const std::string& text) {
    wait_until([&] { return log.text().find(text) != std::string::npos; }, text);
  }
  /// Reads on until that many bytes have come.
  std::string read(const SlowFile& file, std::size_t bytes) {
    std::string text;
    wait_until([&] { return (text += file.available()).size() >= bytes; }, "all bytes");
    return text;
  }

  const CapturedLog log;
  ScratchFolder folder;
  EventLoop loop;
  std::shared_ptr<LogWriter> writer = LogWriter::make(loop.executor());
};

TEST_CASE_METHOD(WriterFixture, "what is written is in its file when that is waited for") {
  const auto one = open(folder / "one"), other = open(folder / "other");
  writer->write(one, "a");
  writer->write(other, "b");
  writer->write(one, "c");
  wait_written(one);
  CHECK(content(folder / "one") == "ac");
  wait_written(other);
  CHECK(content(folder / "other") == "b");
}

TEST_CASE_METHOD(WriterFixture, "at the end all is written, without the event loop") {
  const auto file = open(folder / "log");
  std::string text(3'000'000, 'x');
  writer->write(file, text);
  writer->write(file, "\n");
  writer->end();
  CHECK(content(folder / "log") == text + "\n");
  CHECK(log.text().empty());
}

TEST_CASE_METHOD(WriterFixture, "requests with an answer get it, and errors are reported") {
  CHECK(writer->answer<int>(folder / "log", [] { return 3; }) == 3);
  const auto absent = writer->open(folder / "absent/log", {});
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().kind == Error::Kind::kUnavailable);
  CHECK_THAT(absent.error().message, contains("No such file or directory"));
  const auto descriptor = writer->open_for_others(folder / "direct");
  REQUIRE(descriptor.has_value());
  CHECK(::write(descriptor->number(), "x", 1) == 1);
  CHECK(content(folder / "direct") == "x");
}

TEST_CASE_METHOD(WriterFixture, "a file that is written to is open in the writer's thread alone") {
  const auto is_open_here = [](const std::filesystem::path& path) {
    const std::filesystem::directory_iterator files{"/proc/self/fd"};
    return std::any_of(begin(files), end(files), [&](const auto& file) {
      std::error_code closed;
      return std::filesystem::read_symlink(file, closed) == path;
    });
  };
  bool one_table = true;
  std::thread{[&] { one_table = !take_own_files(2); }}.join();
  if (one_table) {
    SUCCEED("an old kernel, or ThreadSanitizer: one table of files a process");
    return;
  }
  const auto file = open(folder / "log");
  writer->write(file, "said");
  wait_written(file);
  CHECK_FALSE(is_open_here(folder / "log"));
  const auto direct = writer->open_for_others(folder / "direct");
  CHECK(is_open_here(folder / "direct"));
}

TEST_CASE_METHOD(WriterFixture, "a full disk is reported in the event loop, and at the end") {
  const auto full = open("/dev/full");
  writer->write(full, "one");
  hear("error: cannot write to the log file '/dev/full': No space left");
  const auto again = open("/dev/full");
  writer->write(again, "two");
  writer->end();
  CHECK(std::ranges::count(log.text(), '\n') == 2);
}

TEST_CASE_METHOD(WriterFixture, "a file is closed behind what is written to it") {
  auto file = open(folder / "log");
  writer->write(file, "last words");
  writer->close(std::exchange(file, nullptr));
  writer->end();
  CHECK(content(folder / "log") == "last words");
}

TEST_CASE_METHOD(WriterFixture, "a folder that hangs is named, and nobody waits for it any more") {
  const SlowFile slow{folder / "slow"};
  const auto file = open(slow.path());
  const std::string text(WriteBacklog::kBytesMax, 'x');
  writer->write(file, text);
  wait_written(file);  // for two seconds
  CHECK(log.text() ==
        "warning: no answer for 2 s from '" + slow.path().string() +
            "': is its disk or its server there? The job goes on, and log files lack what is more "
            "than 64 MiB\n");
  CHECK(*await_room());
  CHECK_FALSE(writer->answer<int>(folder / "other", [] { return 3; }));
  const auto refused = writer->open(folder / "other", {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == Error::Kind::kTimeout);
  writer->end();
  CHECK_THAT(log.text(), contains(" bytes of output are missing in log files, such as '" +
                                  slow.path().string() + "'"));
}

TEST_CASE_METHOD(WriterFixture,
                 "what a folder has no room for is counted, and told when it answers") {
  const SlowFile slow{folder / "slow"};
  const auto file = open(slow.path());
  const std::string text(WriteBacklog::kBytesTaken, 'x');
  writer->write(file, text);
  CHECK_FALSE(*await_room());
  wait_written(file);
  writer->write(file, "abc");
  const std::string taken = read(slow, text.size());
  CHECK(taken == text);
  hear("'" + slow.path().string() + "' answers again; ");
  CHECK_THAT(log.text(), contains("; 3 bytes of output are missing in log files"));
  writer->write(file, "and on\n");
  wait_written(file);
  CHECK(read(slow, 7) == "and on\n");
  writer->end();
  CHECK(std::ranges::count(log.text(), '\n') == 2);
}

TEST_CASE_METHOD(WriterFixture, "a slow folder makes wait who writes more, until there is room") {
  const SlowFile slow{folder / "slow"};
  const auto file = open(slow.path());
  const std::string piece(64 * 1024, 'x');
  for (std::size_t n = 0; n < WriteBacklog::kBytesMax; n += piece.size())
    writer->write(file, piece);
  const auto there = await_room();
  CHECK_FALSE(*there);
  std::size_t bytes = 0;
  const auto read_some = [&] { return bytes += slow.available().size(); };
  wait_until([&] { return read_some() > 0 && *there; }, "room");
  CHECK(bytes < WriteBacklog::kBytesMax);
  CHECK(log.text().empty());
  wait_until([&] { return read_some() >= WriteBacklog::kBytesMax; }, "all bytes");
}

}  // namespace
}  // namespace ddprun
