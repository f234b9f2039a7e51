#include "agent/output/log_pump.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "agent/output/line_text.hpp"
#include "agent/output/terminal.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kReadBytes = 64 * 1024;  // the size of a pipe
/// Where lines of many are compared: less at a time, so that all come equally far.
constexpr std::size_t kFoldedReadBytes = 4 * 1024;
constexpr auto kPromptDelay = 100ms;  // an unfinished line is shown when no more comes for this
                                      // long
/// So much of a file that the worker wrote by itself is read for the failure report.
/// The message of an exception may be long, and its type stands before it.
constexpr auto kTailBytes = static_cast<std::streamoff>(8 * CrashTail::kBytesMax);

std::string end_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary | std::ios::ate};
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string text(static_cast<std::size_t>(std::min(size, kTailBytes)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Error refused(const std::string& what) {
  return {Error::Kind::kUnavailable, "cannot open " + what + ": " + std::strerror(errno)};
}

}  // namespace

Result<std::shared_ptr<LogPump>> LogPump::open(const asio::any_io_executor& executor,
                                               Console& console, StreamPlan plan,
                                               FoldTarget fold_target,
                                               std::shared_ptr<LogWriter> writer) {
  if (!plan.has_files())
    writer = nullptr;
  else if (!writer)
    writer = LogWriter::make(executor);
  std::shared_ptr<LogPump> pump{
      new LogPump{executor, console, std::move(plan), std::move(fold_target), std::move(writer)}};
  if (const Result<void> connected = pump->connect(); !connected) return connected.error();
  return pump;
}

LogPump::LogPump(const asio::any_io_executor& executor, Console& console, StreamPlan plan,
                 FoldTarget fold_target, std::shared_ptr<LogWriter> writer)
    : console_{console},
      plan_{std::move(plan)},
      fold_target_{std::move(fold_target)},
      source_{executor},
      writer_{std::move(writer)},
      idle_{executor, asio::steady_timer::time_point::max()} {}

LogPump::~LogPump() {
  close_worker_end();
  if (file_) writer_->close(file_);
  if (filtered_) writer_->close(filtered_);
}

Result<void> LogPump::connect() {
  if (plan_.direct()) return open_for_worker();
  if (const auto opened = open_files(); !opened) return opened.error();
  if (plan_.terminal) {
    const auto terminal = open_terminal();
    if (!terminal) return terminal.error();
    source_.assign(terminal->ours);
    worker_end_ = Descriptor{terminal->workers};
    return {};
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return refused("a pipe for a worker's output");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);  // the worker's end stays blocking
  source_.assign(ends[0]);
  worker_end_ = Descriptor{ends[1]};
  return {};
}

Result<void> LogPump::open_files() {
  if (!plan_.file.empty()) {
    auto file = open_file(plan_.file, plan_.rotation);
    if (!file) return file.error();
    file_ = std::move(*file);
  }
  if (plan_.filters.empty()) return {};
  auto filtered = open_file(plan_.filtered_file, {});
  if (!filtered) return filtered.error();
  filtered_ = std::move(*filtered);
  return {};
}

/// A folder that hangs has been reported, and workers run without it.
Result<std::shared_ptr<LogWriter::File>> LogPump::open_file(const std::filesystem::path& path,
                                                            RotationRule rotation) {
  auto file = writer_->open(path, rotation);
  if (!file && file.error().kind == Error::Kind::kTimeout)
    return std::shared_ptr<LogWriter::File>{};
  return file;
}

Result<void> LogPump::open_for_worker() {
  if (!plan_.file.empty()) {
    auto file = writer_->open_for_others(plan_.file);
    if (!file && file.error().kind != Error::Kind::kTimeout) return file.error();
    if (file) worker_end_ = std::move(*file);
  }
  if (!worker_end_.is_open()) worker_end_ = Descriptor{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  return worker_end_.is_open() ? Result<void>{} : refused("/dev/null");
}

void LogPump::start() {
  close_worker_end();
  if (!source_.is_open()) return;
  start_coroutine(source_.get_executor(), pump(), report_failure("reading a worker's output"));
  start_coroutine(source_.get_executor(), pass_on_when_idle(), report_failure("passing on output"));
}

/// To close a file may take as long as its folder wants.
void LogPump::close_worker_end() {
  if (!worker_end_.is_open()) return;
  if (plan_.direct() && writer_) return writer_->close_for_others(std::move(worker_end_));
  worker_end_ = Descriptor{};
}

asio::awaitable<void> LogPump::pump() {
  const auto self = shared_from_this();
  for (;;) {
    if (file_ || filtered_) co_await writer_->writable();
    if (waits_for_console()) co_await console_.writable();
    if (fold_target_.output) co_await fold_target_.output->writable(fold_target_.rank);
    if (!source_.is_open()) co_return;
    const auto [error] = co_await source_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                     asio::as_tuple(asio::use_awaitable));
    if (error || read_some() == ReadResult::kEnd) co_return close();
  }
}

asio::awaitable<void> LogPump::pass_on_when_idle() {
  const auto self = shared_from_this();
  while (source_.is_open()) {
    const auto [moved] = co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (moved || !source_.is_open()) continue;
    pass_on(lines_.take_rest());
    idle_.expires_at(asio::steady_timer::time_point::max());
  }
}

/// What is in a file can be read there, so its worker need not wait until a person has read it
/// here.
bool LogPump::waits_for_console() const {
  return plan_.shown && (plan_.file.empty() || !console_.is_terminal());
}

void LogPump::pass_on(const std::string& text) {
  show(text);
  if (filtered_)
    writer_->write(filtered_, matching_lines(text, stamp_ + plan_.prefix, plan_.filters));
}

void LogPump::show(const std::string& text) {
  if (fold_target_.output)
    return fold_target_.output->say(fold_target_.rank, fold_target_.err, text, stamp_);
  if (!waits_for_console() && !console_.takes_more())
    return console_.leave_out(static_cast<std::size_t>(std::ranges::count(text, '\n')));
  if (plan_.prefix.empty())
    console_.write(text);
  else
    console_.write_lines(this, stamp_ + plan_.prefix, text);
}

LogPump::ReadResult LogPump::read_some() {
  static std::array<char, kReadBytes> buffer;  // one event loop thread, used up before it returns
  const std::size_t most = fold_target_.output ? kFoldedReadBytes : buffer.size();
  const ssize_t n = ::read(source_.native_handle(), buffer.data(), most);
  if (n == 0) return ReadResult::kEnd;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? ReadResult::kNothingNow : ReadResult::kEnd;
  const std::string_view bytes{buffer.data(), static_cast<std::size_t>(n)};
  tail_.append(bytes);
  for (const auto& feed : feeds_)
    if (const auto open = feed.lock()) open->append(bytes);
  crash_tail_.append(bytes, Clock::now());
  if (plan_.stamped) stamp_ = time_stamp(unix_time_ms());
  if (file_ && plan_.stamped)
    writer_->write(file_, stamper_.stamped(bytes, stamp_));
  else if (file_)
    writer_->write(file_, bytes);
  if (!plan_.shown) return ReadResult::kData;
  pass_on(lines_.feed(bytes));
  if (!lines_.empty()) idle_.expires_after(kPromptDelay);
  return ReadResult::kData;
}

void LogPump::retarget(std::string prefix, FoldTarget fold_target) {
  plan_.prefix = std::move(prefix);
  fold_target_ = std::move(fold_target);
}

void LogPump::drain() {
  while (source_.is_open() && read_some() == ReadResult::kData) continue;
  if (!plan_.shown) return;
  pass_on(lines_.take_rest());
  console_.end_line(this);
}

asio::awaitable<void> LogPump::written() {
  const auto self = shared_from_this();
  for (const auto& file : {file_, filtered_})
    if (file) co_await writer_->written(file);
}

void LogPump::close() {
  if (!source_.is_open()) return;
  drain();
  source_.close();
  idle_.cancel();
}

std::shared_ptr<OutputFeed> LogPump::follow() {
  std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
  auto feed = std::make_shared<OutputFeed>();
  feeds_.push_back(feed);
  return feed;
}

void LogPump::resize() {
  if (plan_.terminal && source_.is_open()) copy_window_size(source_.native_handle());
}

std::string LogPump::end_of_file() const {
  return writer_->answer<std::string>(plan_.file, [file = plan_.file] { return end_of(file); })
      .value_or("");
}

std::vector<std::string> LogPump::last_lines() const {
  if (!plan_.direct() || plan_.file.empty()) return tail_.lines();
  OutputTail tail;
  tail.append(end_of_file());
  return tail.lines();
}

StreamEnd LogPump::stream_end() const {
  if (!plan_.direct() || plan_.file.empty()) return crash_tail_.end();
  CrashTail tail;
  tail.append(end_of_file(), {});
  return {tail.end().text, {}};
}

}  // namespace ddprun
