#include "agent/timers/timer_pipe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "tests/support/event_loop.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class PipeFixture {
 protected:
  TimerPipe& pipe() { return *pipe_; }
  void make(const std::string& wanted = "") {
    pipe_.emplace(loop_.executor());
    REQUIRE(pipe_->make(wanted, folder_.path()).has_value());
    pipe_->listen([this](const ExpiredTimer& timer) { expired_.push_back(timer); });
  }
  /// As FileTimerClient does it: open, one line, close.
  void write(const std::string& line) {
    const int out = open(pipe().path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(out >= 0);
    REQUIRE(::write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    ::close(out);
  }
  void set_timer(int pid, std::chrono::milliseconds after) {
    const auto expires = static_cast<double>(unix_time_ms() + after.count()) / 1000;
    write(R"({"version": 1, "pid": )" + std::to_string(pid) +
          R"(, "scope_id": "s", "expiration_time": )" + std::to_string(expires) +
          R"(, "signal": 9})" + "\n");
  }
  void wait_for_expired(std::size_t count) {
    loop_.run_until([&] { return expired_.size() >= count; }, "a timer to expire");
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  EventLoop loop_;
  ScratchFolder folder_;
  std::optional<TimerPipe> pipe_;
  std::vector<ExpiredTimer> expired_;
};

TEST_CASE_METHOD(PipeFixture,
                 "timers expire one after the other, no matter which process wrote them") {
  make();
  set_timer(72, 60ms);
  set_timer(71, 20ms);
  write("no timer\n");
  wait_for_expired(2);
  CHECK(expired_[0].pid == 71);
  CHECK(expired_[1].pid == 72);
  set_timer(73, 0ms);
  wait_for_expired(3);
  CHECK(expired_[2].pid == 73);
}

TEST_CASE_METHOD(PipeFixture, "what was taken back counts, though both are read too late") {
  make();
  set_timer(71, 0ms);
  write("{\"pid\": 71, \"scope_id\": \"s\", \"expiration_time\": -1, \"signal\": 0}\n");
  set_timer(72, 1ms);
  wait_for_expired(1);
  CHECK(expired_.front().pid == 72);
}

TEST_CASE_METHOD(PipeFixture, "the timers of a round's workers end with it") {
  make();
  set_timer(71, 0ms);
  pipe().forget();
  set_timer(72, 1ms);
  wait_for_expired(1);
  CHECK(expired_.front().pid == 72);
}

TEST_CASE_METHOD(PipeFixture, "only the user reaches the pipe, and nothing of it stays") {
  make();
  struct stat facts {};
  REQUIRE(stat(pipe().path().c_str(), &facts) == 0);
  CHECK(S_ISFIFO(facts.st_mode));
  CHECK((facts.st_mode & 0777U) == 0600U);
  const std::string path = pipe().path();
  pipe().close();
  pipe_.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE_METHOD(PipeFixture, "the pipe is where the user wants it, also after a crash") {
  REQUIRE(mkfifo(file("timers").c_str(), 0600) == 0);
  make(file("timers"));
  CHECK(pipe().path() == file("timers"));
  set_timer(71, 1ms);
  wait_for_expired(1);
}

TEST_CASE_METHOD(PipeFixture, "what is there already is nobody's to remove") {
  std::ofstream{file("timers")} << "results";
  make(file("timers"));
  CHECK(pipe().path() != file("timers"));
  CHECK(std::filesystem::file_size(file("timers")) == 7);
}

TEST_CASE_METHOD(PipeFixture, "a pipe that somebody else reads stays theirs") {
  make(file("timers"));
  TimerPipe second{loop_.executor()};
  REQUIRE(second.make(file("timers"), folder_.path()).has_value());
  CHECK(second.path() != file("timers"));
  set_timer(71, 1ms);
  wait_for_expired(1);
}

TEST_CASE_METHOD(PipeFixture, "a place where there can be no pipe does not turn timers off") {
  make(file("nowhere/timers"));
  CHECK(std::filesystem::exists(pipe().path()));
}

}  // namespace
}  // namespace ddprun
