#include "agent/output/log_pump.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/captured_log.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

std::string numbered_lines(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

/// A console that the test reads.
struct Screen {
  Pipe pipe;
  Console console;
  explicit Screen(EventLoop& loop) : console{loop.executor(), pipe.writer()} {}
};

/// One stream of a worker. The test is the worker.
class Stream {
 public:
  Stream(EventLoop& loop, Screen& screen, StreamPlan plan, FoldTarget to = {}) {
    auto opened = LogPump::open(loop.executor(), screen.console, std::move(plan), std::move(to));
    if (!opened) FAIL(opened.error().message);
    pump = *opened;
    worker_ = fcntl(pump->worker_end(), F_DUPFD_CLOEXEC, 0);
    pump->start();
    loop.poll();  // it listens from now on
  }
  ~Stream() { end(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void write(std::string_view text) const {
    REQUIRE(::write(worker_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  /// How many bytes of `text` there is room for at once.
  std::size_t write_some(std::string_view text) const {
    fcntl(worker_, F_SETFL, O_NONBLOCK);
    const ssize_t n = ::write(worker_, text.data(), text.size());
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  void settle(EventLoop& loop) const { loop.run(pump->written(), "the files"); }
  void drain(EventLoop& loop) const {
    pump->drain();
    settle(loop);
  }
  int worker() const { return worker_; }
  void end() {
    if (worker_ >= 0) ::close(std::exchange(worker_, -1));
  }

  std::shared_ptr<LogPump> pump;

 private:
  int worker_ = -1;
};

TEST_CASE("a worker's bytes are shown as they are, as soon as a line is whole") {
  EventLoop loop;
  Screen screen{loop};
  const Stream out{loop, screen, {}};
  const std::string bytes{"a\0\xff\x1b[1m\n10%\r20%\r\n", 17};
  out.write(bytes);
  loop.poll();
  CHECK(screen.pipe.available() == bytes);
}

TEST_CASE("an unfinished line is held back, and shown when no more comes for a while") {
  EventLoop loop;
  Screen screen{loop};
  const Stream out{loop, screen, {}};
  out.write("done\nPassword: ");
  loop.poll();
  CHECK(screen.pipe.available() == "done\n");
  std::string shown;
  loop.run_until(
      [&] {
        shown += screen.pipe.available();
        return !shown.empty();
      },
      "the prompt");
  CHECK(shown == "Password: ");
  out.write("secret\n");
  loop.poll();
  CHECK(screen.pipe.available() == "secret\n");
}

TEST_CASE("drain passes on every byte that was written before any message") {
  EventLoop loop;
  Screen screen{loop};
  ScratchFolder folder;
  const Stream out{loop, screen, {.file = folder / "stdout.log"}};
  REQUIRE(fcntl(out.worker(), F_SETPIPE_SZ, 1'000'000) > 0);
  const std::string text = numbered_lines(300'000) + "last words";
  out.write(text);
  out.drain(loop);
  CHECK(content(folder / "stdout.log") == text);
  CHECK(out.pump->last_lines().back() == "last words");
  screen.console.write_message("a worker failed\n");
  std::string shown;
  loop.run_until(
      [&] {
        shown += screen.pipe.available();
        return shown.ends_with("failed\n");
      },
      "all that was written");
  CHECK(shown == text + "\na worker failed\n");
}

TEST_CASE("drain ends the unfinished line of a worker that has a prefix") {
  EventLoop loop;
  Screen screen{loop};
  const Stream one{loop, screen, {.prefix = "[1]:"}};
  const Stream other{loop, screen, {.prefix = "[2]:"}};
  one.write("half");
  one.pump->drain();
  CHECK(screen.pipe.available() == "[1]:half\n");
  one.pump->drain();
  other.pump->drain();
  CHECK(screen.pipe.available().empty());
}

TEST_CASE("close drains, and forgets the worker") {
  EventLoop loop;
  Screen screen{loop};
  const Stream out{loop, screen, {}};
  out.write("a last word");
  out.pump->close();
  CHECK(screen.pipe.available() == "a last word");
  out.pump->close();
  loop.run_until([&] { return out.pump.use_count() == 1; }, "the end of the pump");
  const Ignored as_the_program_does{SIGPIPE};
  CHECK(::write(out.worker(), "x", 1) == -1);
  CHECK(errno == EPIPE);
}

TEST_CASE("a pump ends with its worker") {
  EventLoop loop;
  Screen screen{loop};
  Stream out{loop, screen, {}};
  out.write("done");
  out.end();
  loop.run_until([&] { return out.pump.use_count() == 1; }, "the end of the pump");
  CHECK(screen.pipe.available() == "done");
}

TEST_CASE("a tee'd stream goes to its file as it is and to the console behind its prefix") {
  EventLoop loop;
  Screen screen{loop};
  ScratchFolder folder;
  Stream out{loop,
             screen,
             {.prefix = "[0]:",
              .file = folder / "stdout.log",
              .filtered_file = folder / "filtered_stdout.log",
              .filters = {"loss", "error"}}};
  out.write("step 1\nloss 0.5\nan err");
  loop.poll();
  CHECK(screen.pipe.available() == "[0]:step 1\n[0]:loss 0.5\n");
  out.write("or\r\nend");
  out.end();
  loop.run_until([&] { return out.pump.use_count() == 1; }, "the end of the pump");
  CHECK(screen.pipe.available() == "[0]:an error\r\n[0]:end\n");
  out.settle(loop);
  CHECK(content(folder / "stdout.log") == "step 1\nloss 0.5\nan error\r\nend");
  CHECK(content(folder / "filtered_stdout.log") == "[0]:loss 0.5\n[0]:an error\r\n");
  CHECK(out.pump->last_lines() ==
        std::vector<std::string>{"step 1", "loss 0.5", "an error", "end"});
}

TEST_CASE("a worker whose output is only for a file writes to it by itself") {
  EventLoop loop;
  Screen screen{loop};
  ScratchFolder folder;
  const Stream out{loop, screen, {.shown = false, .file = folder / "stdout.log"}};
  out.write(numbered_lines(200'000) + "last words");
  CHECK(content(folder / "stdout.log").ends_with("last words"));
  const std::vector<std::string> last = out.pump->last_lines();
  REQUIRE(last.size() == OutputTail::kLinesMax);
  CHECK(last.back() == "last words");
  out.pump->drain();
  out.pump->close();
  loop.poll();
  CHECK(screen.pipe.available().empty());
}

TEST_CASE("a worker whose output nobody wants is not stopped by it") {
  EventLoop loop;
  Screen screen{loop};
  const Stream out{loop, screen, {.shown = false}};
  out.write(numbered_lines(200'000));
  out.pump->drain();
  CHECK(out.pump->last_lines().empty());
  CHECK(screen.pipe.available().empty());
}

TEST_CASE("a slow console slows only the worker that writes to it") {
  EventLoop loop;
  Screen slow{loop};
  Screen fast{loop};
  const Stream one{loop, slow, {}};
  const Stream other{loop, fast, {}};
  const std::string text = numbered_lines(3 * Console::kQueueBytesMax);
  const std::string_view all{text};
  std::size_t written = 0;
  for (std::size_t n = 1; n > 0; loop.poll()) written += n = one.write_some(all.substr(written));
  CHECK(written > Console::kQueueBytesMax);
  CHECK(written < 2 * Console::kQueueBytesMax);
  other.write("unmoved\n");
  loop.poll();
  CHECK(fast.pipe.available() == "unmoved\n");
  std::string shown;
  loop.run_until(
      [&] {
        shown += slow.pipe.available();
        if (written < text.size()) written += one.write_some(all.substr(written));
        return shown.size() >= text.size();
      },
      "all that was written");
  CHECK(shown == text);
}

TEST_CASE("a worker on a terminal is heard byte by byte, and ends as others do") {
  EventLoop loop;
  Screen screen{loop};
  Stream out{loop, screen, {.terminal = true}};
  CHECK(isatty(out.worker()) == 1);
  // The kernel hands on what is written to a terminal a moment later.
  std::string shown;
  const auto wait_for = [&](std::size_t bytes) {
    const auto there = [&] { return (shown += screen.pipe.available()).size() >= bytes; };
    loop.run_until(there, std::to_string(bytes) + " bytes of the terminal");
    return std::exchange(shown, {});
  };
  const std::string controls{"one\ntwo\x03\x04\n", 10};
  out.write(controls);
  CHECK(wait_for(controls.size()) == controls);
  const std::string text = numbered_lines(9'000);  // more than a terminal gives at once
  std::size_t written = 0;
  while (written < text.size()) {
    written += out.write_some(std::string_view{text}.substr(written));
    out.pump->drain();
  }
  CHECK(wait_for(text.size()) == text);
  out.end();
  loop.run_until([&] { return out.pump.use_count() == 1; }, "the end of the pump");
}

TEST_CASE("a worker sees its terminal, and the pump hears what a process wrote before it ended") {
  EventLoop loop;
  Screen screen{loop};
  SpawnPool pool{1};
  auto pump = LogPump::open(loop.executor(), screen.console, {.terminal = true});
  REQUIRE(pump.has_value());
  ChildProcess child = start_one(
      loop, pool, {probe({"columns", "write", "1", "bye"}), {.out = (*pump)->worker_end()}});
  (*pump)->start();
  CHECK((*pump)->worker_end() == -1);
  CHECK(loop.run(child.wait(), "the worker's end") == ExitStatus{});
  (*pump)->drain();
  const std::vector<std::string> lines = (*pump)->last_lines();
  REQUIRE(lines.size() == 2);
  CHECK(std::stoi(lines[0]) > 0);
  CHECK(lines[1] == "bye");
}

TEST_CASE("a stamped stream has the time before each line of its file and of the console") {
  EventLoop loop;
  Screen screen{loop};
  ScratchFolder folder;
  const auto without_times = [](std::string text) {
    std::string rest;
    while (!text.empty()) {
      CHECK(text[10] == 'T');
      CHECK(text[29] == ' ');
      const std::size_t end = text.find('\n');
      rest += text.substr(30, end == std::string::npos ? end : end - 29);
      text.erase(0, end == std::string::npos ? end : end + 1);
    }
    return rest;
  };
  const Stream out{
      loop, screen, {.prefix = "[0]:", .file = folder / "stdout.log", .stamped = true}};
  out.write("one\ntwo\nhalf");
  out.drain(loop);
  CHECK(without_times(content(folder / "stdout.log")) == "one\ntwo\nhalf");
  CHECK(without_times(screen.pipe.available()) == "[0]:one\n[0]:two\n[0]:half\n");
}

TEST_CASE("what is not shown passes through the pump where files are stamped or rotated") {
  EventLoop loop;
  Screen screen{loop};
  ScratchFolder folder;
  const std::string text = numbered_lines(5'000);
  const Stream out{loop,
                   screen,
                   {.shown = false,
                    .file = folder / "stdout.log",
                    .rotation = {.bytes_max = 1000, .files_max = 10}}};
  out.write(text);
  out.drain(loop);
  std::string kept;
  for (int i = 9; i > 0; --i) kept += content(folder / ("stdout.log." + std::to_string(i)));
  CHECK(kept + content(folder / "stdout.log") == text);
  CHECK(out.pump->last_lines().size() == OutputTail::kLinesMax);
  CHECK(screen.pipe.available().empty());
}

/// Two workers whose equal lines are shown once.
struct Choir {
  explicit Choir(EventLoop& loop)
      : screen{loop},
        errors{loop},
        output{std::make_shared<FoldedOutput>(
            loop.executor(), screen.console, errors.console, [](const FoldedLine& line) {
              return "[" + std::to_string(line.ranks.size()) + " ranks] ";
            })} {
    for (const int rank : {0, 1}) output->expect({rank, rank, 0}, false, false);
  }
  Screen screen, errors;
  std::shared_ptr<FoldedOutput> output;
};

TEST_CASE("folded streams show once what both say, whole or not") {
  EventLoop loop;
  Choir choir{loop};
  const Stream one{loop, choir.screen, {.folded = true}, {choir.output, 0, false}};
  const Stream other{loop, choir.screen, {.folded = true}, {choir.output, 1, false}};
  one.write("loading\nwait");
  other.write("loading\nwait");
  loop.poll();
  CHECK(choir.screen.pipe.available() == "[2 ranks] loading\n");
  one.pump->drain();
  other.pump->drain();
  CHECK(choir.screen.pipe.available() == "[2 ranks] wait");
  one.write("ing\n");
  other.write("ing\n");
  loop.poll();
  CHECK(choir.screen.pipe.available() == "ing\n");
  choir.output->close();
}

TEST_CASE("folded streams show what one says alone after a while, and the rest at the end") {
  EventLoop loop;
  Choir choir{loop};
  const Stream one{loop, choir.screen, {.folded = true}, {choir.output, 0, false}};
  const Stream other{loop, choir.errors, {.folded = true}, {choir.output, 1, true}};
  one.write("alone\n");
  std::string shown;
  loop.run_until(
      [&] {
        shown += choir.screen.pipe.available();
        return !shown.empty();
      },
      "the line that one rank said");
  CHECK(shown == "[1 ranks] alone\n");
  other.write("an error\n");
  other.pump->drain();
  choir.output->ended(1, true);
  CHECK(choir.errors.pipe.available() == "[1 ranks] an error\n");
  one.write("the end");
  one.pump->drain();
  choir.output->close();
  CHECK(choir.screen.pipe.available() == "[1 ranks] the end\n");
}

TEST_CASE("a full disk is reported once, with the file's name, and stops no job") {
  const CapturedLog log;
  EventLoop loop;
  Screen screen{loop};
  const Stream out{loop, screen, {.prefix = "[0]:", .file = "/dev/full"}};
  out.write("one\n");
  loop.poll();
  out.write("two\n");
  loop.poll();
  CHECK(screen.pipe.available() == "[0]:one\n[0]:two\n");
  out.settle(loop);
  loop.run_until([&] { return !log.text().empty(); }, "the warning");
  CHECK(log.text() ==
        "error: cannot write to the log file '/dev/full': No space left on device; the rest is "
        "missing there\n");
}

}  // namespace
}  // namespace ddprun
