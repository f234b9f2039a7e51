#include "agent/timers/timer_pipe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr mode_t kOwnerOnly = 0600;
/// As much as a pipe holds. Then the event loop goes on, however much more is written.
constexpr int kReadsAtOnce = 16;
constexpr std::size_t kReadBytes = 4096;
constexpr std::chrono::seconds kDiskTimeout{2};

/// Whether a pipe of this user is there that no process reads.
bool is_abandoned_pipe(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return false;
  if (!S_ISFIFO(facts.st_mode) || facts.st_uid != geteuid()) return false;
  const int reached = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  const bool nobody_reads = reached < 0 && errno == ENXIO;
  if (reached >= 0) ::close(reached);
  return nobody_reads;
}

/// Returns the pipe, open, or an error. It is open for writing as well: a pipe whose last writer
/// has gone would be readable for ever.
Result<int> make_pipe(const std::string& path) {
  if (is_abandoned_pipe(path)) unlink(path.c_str());
  const auto error = [&] {
    return Error{Error::Kind::kUnavailable,
                 "cannot make the pipe " + path + ": " + std::strerror(errno)};
  };
  if (mkfifo(path.c_str(), kOwnerOnly) != 0) return error();
  const int pipe = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (pipe >= 0) return pipe;
  const Error failed = error();
  unlink(path.c_str());
  return failed;
}

}  // namespace

TimerPipe::TimerPipe(const asio::any_io_executor& executor)
    : pipe_{executor}, alarm_{executor, TimePoint::max()} {}

Result<void> TimerPipe::make(const std::string& wanted, const std::string& temporary_directory) {
  const auto make_at = [this](const std::string& path) -> Result<void> {
    const auto pipe = make_pipe(path);
    if (!pipe) return pipe.error();
    pipe_ = {pipe_.get_executor(), *pipe};
    path_ = path;
    return {};
  };
  if (!wanted.empty()) {
    auto made = make_at(wanted);
    if (made) return made;
    log::warn("{}={}: {}; the workers' pipe gets another name", kTimerFileVariable, wanted,
              made.error().message);
  }
  return make_at(temporary_directory + "/watchdog_timer_" + fresh_id());
}

/// The user may have chosen its place, and that may hang.
TimerPipe::~TimerPipe() {
  close();
  if (path_.empty()) return;
  LeftBehindQueue disk{1};
  const auto added = disk.add([path = path_] { unlink(path.c_str()); });
  if (!added || !disk.done_within(kDiskTimeout)) log::warn("the pipe {} is left behind", path_);
}

void TimerPipe::listen(Listener expired) {
  if (!pipe_.is_open()) return;
  expired_ = std::move(expired);
  const auto executor = pipe_.get_executor();
  start_coroutine(executor, read(), report_failure("reading the timers' pipe"));
  start_coroutine(executor, keep_time(), report_failure("the timers"));
}

void TimerPipe::forget() {
  if (!pipe_.is_open()) return;
  drain();
  table_.clear();
  set_alarm();
}

void TimerPipe::close() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  alarm_.cancel();
}

asio::awaitable<void> TimerPipe::read() {
  while (pipe_.is_open()) {
    const auto [error] =
        co_await pipe_.async_wait(asio::posix::descriptor_base::wait_read, kQuietly);
    if (error) co_return;
    drain();
    set_alarm();
  }
}

/// What has been taken back counts, also where this process has slept, and finds the line in the
/// pipe only now.
asio::awaitable<void> TimerPipe::keep_time() {
  while (pipe_.is_open()) {
    co_await alarm_.async_wait(kQuietly);
    if (!pipe_.is_open()) co_return;
    if (Clock::now() < alarm_.expiry()) continue;
    drain();
    for (const ExpiredTimer& timer : table_.take_expired(Clock::now())) expired_(timer);
    set_alarm();
  }
}

void TimerPipe::drain() {
  std::array<char, kReadBytes> bytes;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t got = ::read(pipe_.native_handle(), bytes.data(), bytes.size());
    if (got <= 0) return;
    const std::string complaint =
        table_.take({bytes.data(), static_cast<std::size_t>(got)}, Clock::now(),
                    std::chrono::milliseconds{unix_time_ms()});
    if (!complaint.empty()) log::warn("{}", complaint);
  }
}

void TimerPipe::set_alarm() {
  const TimePoint due = table_.next_due().value_or(TimePoint::max());
  if (due != alarm_.expiry()) alarm_.expires_at(due);
}

}  // namespace ddprun
