#include "agent/log_pump.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rendezvous/report_failure.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kReadBytes = 64 * 1024;  // what a pipe holds
constexpr auto kPromptDelay = 100ms;  // an unfinished line is shown when no more comes for so long

}  // namespace

Result<std::shared_ptr<LogPump>> LogPump::open(const asio::any_io_executor& executor,
                                               Console& console) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{Error::Kind::kUnavailable,
                 std::string{"cannot make a pipe for a worker's output: "} + std::strerror(errno)};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the worker's end stays blocking
  return std::shared_ptr<LogPump>{new LogPump{executor, console, ends[0], ends[1]}};
}

LogPump::LogPump(const asio::any_io_executor& executor, Console& console, int read_end,
                 int worker_end)
    : pipe_{executor, read_end},
      worker_end_{worker_end},
      console_{console},
      idle_{executor, asio::steady_timer::time_point::max()} {}

LogPump::~LogPump() {
  if (worker_end_ >= 0) ::close(worker_end_);
}

void LogPump::start() {
  ::close(std::exchange(worker_end_, -1));
  co_spawn(pipe_.get_executor(), pump(), report_failure("reading a worker's output"));
  co_spawn(pipe_.get_executor(), pass_on_when_idle(), report_failure("passing on output"));
}

asio::awaitable<void> LogPump::pump() {
  const auto self = shared_from_this();
  for (;;) {
    co_await console_.room();
    if (!pipe_.is_open()) co_return;
    const auto [error] = co_await pipe_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                   asio::as_tuple(asio::use_awaitable));
    if (error || read_some() == ReadResult::kEnd) co_return close();
  }
}

asio::awaitable<void> LogPump::pass_on_when_idle() {
  const auto self = shared_from_this();
  while (pipe_.is_open()) {
    const auto [moved] = co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (moved || !pipe_.is_open()) continue;
    console_.write(lines_.take_rest());
    idle_.expires_at(asio::steady_timer::time_point::max());
  }
}

LogPump::ReadResult LogPump::read_some() {
  static std::array<char, kReadBytes> buffer;  // one event loop thread, used up before it returns
  const ssize_t n = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
  if (n == 0) return ReadResult::kEnd;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? ReadResult::kNothingNow : ReadResult::kEnd;
  const std::string_view bytes{buffer.data(), static_cast<std::size_t>(n)};
  tail_.append(bytes);
  console_.write(lines_.feed(bytes));
  if (!lines_.empty()) idle_.expires_after(kPromptDelay);
  return ReadResult::kData;
}

void LogPump::drain() {
  while (pipe_.is_open() && read_some() == ReadResult::kData) continue;
  console_.write(lines_.take_rest());
}

void LogPump::close() {
  if (!pipe_.is_open()) return;
  drain();
  pipe_.close();
  idle_.cancel();
}

}  // namespace ddprun
