#include "agent/output/console.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "base/descriptor.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

const int kOne = 1, kOtherOne = 2;  // whose lines they are: what counts is their addresses

/// A console whose reader is the test.
struct ConsoleFixture {
  EventLoop loop;
  Pipe pipe;
  Console console{loop.executor(), pipe.writer()};

  std::string shown() {
    loop.poll();
    return pipe.available();
  }
};

/// As much as no pipe holds, each line another.
std::string much(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

/// Reads until `bytes` have come, and runs the loop meanwhile.
std::string read_through(ConsoleFixture& fixture, std::size_t bytes) {
  std::string text;
  fixture.loop.run_until(
      [&] {
        text += fixture.pipe.available();
        return text.size() >= bytes;
      },
      "all that was written");
  return text;
}

/// Begins to wait for room; what it returns becomes true when there is some.
std::shared_ptr<bool> wait_for_room(EventLoop& loop, Console& console) {
  auto there = std::make_shared<bool>(false);
  const auto wait = [](Console& of, std::shared_ptr<bool> done) -> asio::awaitable<void> {
    co_await of.writable();
    *done = true;
  };
  asio::co_spawn(loop.executor(), wait(console, there), [](const std::exception_ptr&) {});
  return there;
}

TEST_CASE("Console writes bytes as they are and in order") {
  ConsoleFixture f;
  f.console.write("one");
  f.console.write("");
  f.console.write(std::string{"\0\xff\r", 3});
  f.console.write("two\n");
  CHECK(f.shown() == std::string{"one\0\xff\rtwo\n", 10});
}

TEST_CASE("Console's messages begin a new line") {
  ConsoleFixture f;
  f.console.write_message("first\n");
  f.console.write("worker");
  f.console.write_message("second\n");
  f.console.write_message("third\n");
  f.console.write("10%\r");
  f.console.write_message("fourth\n");
  CHECK(f.shown() == "first\nworker\nsecond\nthird\n10%\r\nfourth\n");
}

TEST_CASE("Console does not mix the words of two in a line") {
  ConsoleFixture f;
  f.console.write_lines(&kOne, "[1]:", "whole\nhalf");
  f.console.write_lines(&kOne, "[1]:", " of it\nnext");
  f.console.write_lines(&kOtherOne, "[2]:", "other\n");
  f.console.write_lines(&kOne, "[1]:", "goes on\n");
  f.console.write_lines(&kOtherOne, "[2]:", "");
  CHECK(f.shown() == "[1]:whole\n[1]:half of it\n[1]:next\n[2]:other\n[1]:goes on\n");
}

TEST_CASE("Console puts the prefix before a line that is redrawn") {
  ConsoleFixture f;
  f.console.write_lines(&kOne, "[1]:", "10%\r");
  f.console.write_lines(&kOne, "[1]:", "20%\r");
  f.console.write_lines(&kOtherOne, "[2]:", "other\n");
  CHECK(f.shown() == "[1]:10%\r[1]:20%\r\n[2]:other\n");
}

TEST_CASE("Console ends an unfinished line for the one whose it is") {
  ConsoleFixture f;
  f.console.write_lines(&kOne, "[1]:", "half");
  f.console.end_line(&kOtherOne);
  CHECK(f.shown() == "[1]:half");
  f.console.end_line(&kOne);
  f.console.end_line(&kOne);
  CHECK(f.shown() == "\n");
  f.console.write("no one's");
  f.console.end_line(nullptr);
  f.console.end_line(&kOne);
  CHECK(f.shown() == "no one's");
}

TEST_CASE("Console keeps what a slow reader does not take yet") {
  ConsoleFixture f;
  const std::string text = much(300'000);
  f.console.write(text);
  f.console.write("end\n");
  CHECK(read_through(f, text.size() + 4) == text + "end\n");
  f.console.write("again\n");
  CHECK(f.shown() == "again\n");
}

TEST_CASE("Console has no room when much is queued, until the reader takes it") {
  ConsoleFixture f;
  f.console.write(much(Console::kQueueBytesMax / 2));
  const auto early = wait_for_room(f.loop, f.console);
  f.loop.poll();
  CHECK(*early);
  const std::string text = much(Console::kQueueBytesMax * 2);
  f.console.write(text);
  const auto room = wait_for_room(f.loop, f.console);
  f.loop.poll();
  CHECK_FALSE(*room);
  std::size_t taken = 0;
  f.loop.run_until(
      [&] {
        taken += f.pipe.available().size();
        return *room;
      },
      "room");
  CHECK(taken > text.size() / 2);
}

TEST_CASE("Console whose reader has gone has room for all, and nobody waits") {
  const Ignored as_the_program_does{SIGPIPE};
  ConsoleFixture f;
  f.console.write(much(Console::kQueueBytesMax * 2));
  const auto room = wait_for_room(f.loop, f.console);
  f.loop.poll();
  CHECK_FALSE(*room);
  f.pipe.close_reader();
  f.loop.run_until([&] { return *room; }, "the news that the reader has gone");
  f.console.write("more\n");
  f.console.flush_blocking();
}

TEST_CASE("Console leaves the descriptor that it shares with others blocking") {
  ConsoleFixture f;
  CHECK((fcntl(f.pipe.writer(), F_GETFL) & O_NONBLOCK) == 0);
  f.console.write("x");
  CHECK((fcntl(f.pipe.writer(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("Console writes out what is queued when nothing is left to supervise") {
  ConsoleFixture f;
  const std::string text = much(500'000);
  f.console.write(text);
  std::string taken;
  f.pipe.close_writer();
  std::thread reader{[&] {
    while (taken.size() < text.size()) {
      std::array<char, 65'536> bytes;
      const ssize_t n = ::read(f.pipe.reader(), bytes.data(), bytes.size());
      if (n <= 0) return;
      taken.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }};
  f.console.flush_blocking();
  reader.join();
  CHECK(taken == text);
}

TEST_CASE("Console writes to a socket, and one that is cut off is no error") {
  EventLoop loop;
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  Console console{loop.executor(), ends[0]};
  console.write("hello\n");
  std::array<char, 16> bytes{};
  CHECK(::read(ends[1], bytes.data(), bytes.size()) == 6);
  ::close(ends[1]);
  console.write("lost\n");  // no SIGPIPE, which would end this program
  console.write("lost, too\n");
  ::close(ends[0]);
}

TEST_CASE("Console goes on at the end of a file") {
  ScratchFolder folder;
  std::ofstream{folder / "log"} << "before\n";
  EventLoop loop;
  const int file = open((folder / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  REQUIRE(file >= 0);
  Console console{loop.executor(), file};
  console.write("one\n");
  console.write_message("two\n");
  console.flush_blocking();
  ::close(file);
  std::ifstream log{folder / "log"};
  CHECK(std::string{std::istreambuf_iterator<char>{log}, {}} == "before\none\ntwo\n");
}

TEST_CASE("a full disk takes all and keeps nobody waiting") {
  EventLoop loop;
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  Console console{loop.executor(), full};
  console.write(much(Console::kQueueBytesMax * 2));
  console.flush_blocking();
  const auto room = wait_for_room(loop, console);
  loop.poll();
  CHECK(*room);
  ::close(full);
}

TEST_CASE("consoles that share a wire frame what they write, each its own lines") {
  ConsoleFixture f;
  const auto framing = [](const std::string& name) {
    return [name](std::string_view bytes, bool message) {
      return name + (message ? " says {" : " shows {") + std::string{bytes} + "}";
    };
  };
  Console out{f.console, framing("out")};
  Console err{f.console, framing("err")};
  out.write("half");
  err.write_message("message\n");
  out.write_message("own\n");
  CHECK(f.shown() == "out shows {half}err says {message\n}out shows {\n}out says {own\n}");
  const std::string text = much(Console::kQueueBytesMax * 2);
  err.write(text);
  const auto room = wait_for_room(f.loop, out);
  f.loop.poll();
  CHECK_FALSE(*room);
  CHECK(read_through(f, text.size() + std::string{"err shows {}"}.size()) ==
        "err shows {" + text + "}");
  CHECK(*room);
}

TEST_CASE("consoles that write to the same file keep the order of what they write") {
  ScratchFolder folder;
  const std::string path = (folder / "both").string();
  EventLoop loop;
  std::string expected;
  {
    const Descriptor first{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)};
    const Descriptor second{::open(path.c_str(), O_WRONLY | O_APPEND)};
    Console out{loop.executor(), first.number()};
    Console err{loop.executor(), second.number()};
    for (int i = 0; i < 1000; ++i) {
      const std::string line = std::to_string(i) + "\n";
      (i % 3 == 0 ? err : out).write(line);
      expected += line;
    }
    out.write(much(2 * Console::kQueueBytesMax));
    expected += much(2 * Console::kQueueBytesMax);
    const auto room = wait_for_room(loop, out);
    loop.run_until([&] { return *room; }, "room for more");
    out.flush_blocking();
    err.flush_blocking();
  }
  CHECK(content(path) == expected);
}

}  // namespace
}  // namespace ddprun
