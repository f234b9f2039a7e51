#include "agent/timers/timer_table.hpp"

#include <fmt/format.h>

#include <csignal>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kUnix{1'790'000'000'000};

class TimerTableFixture {
 protected:
  /// What FileTimerClient writes of a timer that begins now.
  static std::string line(int pid, const std::string& scope, milliseconds after,
                          int signal = SIGKILL, milliseconds unix_time = kUnix) {
    return fmt::format(
        R"({{"version": 1, "pid": {}, "scope_id": "{}", "expiration_time": {:.6f}, "signal": {}}})"
        "\n",
        pid, scope, static_cast<double>((unix_time + after).count()) / 1000, signal);
  }
  static std::string release(int pid, const std::string& scope) {
    return fmt::format(
        R"({{"version": 1, "pid": {}, "scope_id": "{}", "expiration_time": -1, "signal": 0}})"
        "\n",
        pid, scope);
  }
  std::string take(const std::string& bytes) { return table_.take(bytes, now_, kUnix); }
  std::vector<std::string> expired_after(milliseconds time) {
    std::vector<std::string> texts;
    for (const ExpiredTimer& timer : table_.take_expired(now_ + time))
      texts.push_back(fmt::format("{} {} {}", timer.pid, timer.signal, describe(timer)));
    return texts;
  }

  TimerTable table_;
  TimePoint now_{1h};
};

using Texts = std::vector<std::string>;

TEST_CASE_METHOD(TimerTableFixture, "a timer that is not taken back expires, once") {
  CHECK(take(line(71, "train.py#12", 2s)).empty());
  CHECK(table_.next_due() == now_ + 2s);
  CHECK(expired_after(1999ms).empty());
  CHECK(expired_after(2s) == Texts{"71 9 timer 'train.py#12' expired after 2 s"});
  CHECK_FALSE(table_.next_due());
  CHECK(expired_after(3s).empty());
}

TEST_CASE_METHOD(TimerTableFixture, "a timer that is taken back in time does not expire") {
  take(line(71, "a", 2s) + line(71, "b", 3s) + release(71, "a"));
  CHECK(table_.next_due() == now_ + 3s);
  take(release(71, "b"));
  CHECK_FALSE(table_.next_due());
}

TEST_CASE_METHOD(TimerTableFixture,
                 "each process and scope has one timer, the last that it asked for") {
  take(line(71, "a", 2s) + line(72, "a", 4s) + line(71, "a", 5s));
  CHECK(expired_after(4s) == Texts{"72 9 timer 'a' expired after 4 s"});
  CHECK(expired_after(5s) == Texts{"71 9 timer 'a' expired after 5 s"});
}

TEST_CASE_METHOD(TimerTableFixture, "of a process's timers the first that names a signal counts") {
  take(line(71, "quiet", 1s, 0) + line(71, "late", 4s, SIGTERM) + line(71, "first", 3s));
  CHECK(expired_after(9s) == Texts{"71 9 timer 'first' expired after 3 s"});
  CHECK_FALSE(table_.next_due());
}

TEST_CASE_METHOD(TimerTableFixture, "a process that gets a signal has no other timers any more") {
  take(line(71, "a", 1s) + line(71, "b", 9s) + line(72, "quiet", 1s, -1) + line(72, "b", 9s));
  CHECK(expired_after(1s) ==
        Texts{"71 9 timer 'a' expired after 1 s", "72 0 timer 'quiet' expired after 1 s"});
  CHECK(expired_after(9s) == Texts{"72 9 timer 'b' expired after 9 s"});
}

TEST_CASE_METHOD(TimerTableFixture, "a line may come in parts, and several at once") {
  const std::string whole = line(71, "a", 1s) + line(72, "a", 1s);
  for (const char c : whole) CHECK(take({c}).empty());
  CHECK(expired_after(1s).size() == 2);
}

TEST_CASE_METHOD(TimerTableFixture, "a timer may be short, long, or over when it comes") {
  take(line(71, "a", 250ms) + line(72, "b", -5s) + line(73, "c", 600s));
  CHECK(expired_after(0s) == Texts{"72 9 timer 'b' expired after 0 s"});
  CHECK(expired_after(250ms) == Texts{"71 9 timer 'a' expired after 0.25 s"});
  CHECK(expired_after(600s) == Texts{"73 9 timer 'c' expired after 600 s"});
  take(R"({"pid": 74, "scope_id": "for ever", "expiration_time": 1e300, "signal": 9})"
       "\n");
  CHECK(expired_after(24h).empty());
}

TEST_CASE_METHOD(TimerTableFixture,
                 "a line that is no timer is reported once, and the next line counts") {
  const std::string bad =
      GENERATE(as<std::string>{}, "hello", "{", "[]", "7", R"({"pid": 71})",
               R"({"pid": "71", "scope_id": "a", "expiration_time": 1, "signal": 9})",
               R"({"pid": 71, "scope_id": 5, "expiration_time": 1, "signal": 9})",
               R"({"pid": 71, "scope_id": "a", "expiration_time": "soon", "signal": 9})",
               R"({"pid": 71, "scope_id": "a", "expiration_time": Infinity, "signal": 9})",
               R"({"pid": 71, "scope_id": "a", "expiration_time": 1, "signal": 9.5})",
               R"({"pid": 71, "scope_id": "a", "expiration_time": 1, "signal": 999})",
               R"({"pid": -1, "scope_id": "a", "expiration_time": 1, "signal": 9})",
               R"({"pid": 1, "scope_id": "a", "expiration_time": 1, "signal": 9})",
               R"({"pid": 99999999999, "scope_id": "a", "expiration_time": 1, "signal": 9})",
               std::string(kTimerLineMax + 1, ' ') + "{}");
  CHECK_THAT(take(bad + "\n"), contains("is no timer"));
  CHECK(take(bad + "\n" + line(71, "a", 1s)).empty());
  CHECK(expired_after(1s).size() == 1);
}

TEST_CASE_METHOD(TimerTableFixture, "the table is full at some time") {
  std::string lines;
  for (std::size_t i = 0; i < kTimersMax; ++i) lines += line(100, std::to_string(i), 1s);
  CHECK(take(lines).empty());
  CHECK(take(line(100, "0", 2s)).empty());
  CHECK_THAT(take(line(101, "a", 1s)), contains("too many"));
  CHECK(expired_after(1s).size() == 1);
  CHECK(take(line(101, "a", 1s)).empty());
  CHECK(expired_after(1s).size() == 1);
}

TEST_CASE_METHOD(TimerTableFixture, "a scope is shown as one printable line of no great length") {
  take(R"({"pid": 71, "scope_id": "a\u001b[31m\nb", "expiration_time": 1, "signal": 9})"
       "\n");
  CHECK(table_.take_expired(now_).front().scope == "a\\x1b[31m\\x0ab");
  take(line(71, std::string(3000, 'x'), 1s));
  CHECK(table_.take_expired(now_ + 1s).front().scope.size() == 200);
}

TEST_CASE_METHOD(TimerTableFixture, "timers of an earlier round are forgotten") {
  take(line(71, "a", 1s));
  table_.clear();
  CHECK_FALSE(table_.next_due());
}

}  // namespace
}  // namespace ddprun
