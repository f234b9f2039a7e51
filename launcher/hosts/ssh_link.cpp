#include "launcher/hosts/ssh_link.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/coroutines.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;

constexpr std::size_t kReadBytes = 64 * 1024;  // a pipe holds so much

/// Opens a pipe of which one end is ours.
Result<void> open_pipe(asio::posix::stream_descriptor& ours, bool we_read, int& theirs) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{Error::Kind::kUnavailable,
                 std::string{"cannot open a pipe for ssh: "} + std::strerror(errno)};
  const int own = ends[we_read ? 0 : 1];
  theirs = ends[we_read ? 1 : 0];
  fcntl(own, F_SETFL, O_NONBLOCK);  // ssh's end stays blocking
  ours.assign(own);
  return {};
}

}  // namespace

Result<std::shared_ptr<SshLink>> SshLink::open(const asio::any_io_executor& executor,
                                               Listener listener) {
  std::shared_ptr<SshLink> link{new SshLink{executor, std::move(listener)}};
  if (const Result<void> connected = link->connect(); !connected) return connected.error();
  return link;
}

SshLink::SshLink(const asio::any_io_executor& executor, Listener listener)
    : listener_{std::move(listener)}, to_{executor}, from_{executor}, words_{executor} {}

SshLink::~SshLink() { close_ssh_ends(); }

Result<void> SshLink::connect() {
  if (auto opened = open_pipe(to_, false, ssh_ends_.in); !opened) return opened;
  if (auto opened = open_pipe(from_, true, ssh_ends_.out); !opened) return opened;
  return open_pipe(words_, true, ssh_ends_.err);
}

void SshLink::close_ssh_ends() {
  for (int* end : {&ssh_ends_.in, &ssh_ends_.out, &ssh_ends_.err})
    if (*end >= 0) ::close(std::exchange(*end, -1));
}

void SshLink::start(ChildProcess process) {
  close_ssh_ends();
  process_.emplace(std::move(process));
  const auto executor = from_.get_executor();
  start_coroutine(executor, read_all(from_), report_failure("reading from a host"));
  start_coroutine(executor, read_all(words_), report_failure("reading what ssh says"));
  start_coroutine(executor, wait_for_end(), report_failure("waiting for ssh"));
}

void SshLink::send(std::string_view line) {
  queue_ += line;
  if (std::exchange(writing_, true)) return;
  start_coroutine(to_.get_executor(), write_queue(), report_failure("writing to a host"));
}

/// Gives up when a host reads no more, because the end of its ssh follows.
asio::awaitable<void> SshLink::write_queue() {
  const auto self = shared_from_this();
  while (!queue_.empty()) {
    const std::string sending = std::exchange(queue_, {});
    const auto buffer = asio::buffer(sending);
    const auto [error, bytes] = co_await asio::async_write(to_, buffer, as_tuple(use_awaitable));
    if (error) co_return;
  }
  writing_ = false;
}

void SshLink::kill() {
  if (process_) process_->signal_group(SIGKILL);
}

/// What the agent says is read as fast as the user's terminal takes it. ssh's own words do
/// not wait, because only the last of them are kept.
asio::awaitable<void> SshLink::read_all(asio::posix::stream_descriptor& source) {
  const auto self = shared_from_this();
  while (source.is_open()) {
    const auto [error] = co_await source.async_wait(asio::posix::stream_descriptor::wait_read,
                                                    as_tuple(use_awaitable));
    if (error || read_some(source) == ReadResult::kEnd) co_return;
    if (&source == &from_) co_await listener_.room();
  }
}

SshLink::ReadResult SshLink::read_some(asio::posix::stream_descriptor& source) {
  static std::array<char, kReadBytes> buffer;  // one thread uses it, and only until it returns
  const ssize_t n = ::read(source.native_handle(), buffer.data(), buffer.size());
  if (n == 0) return ReadResult::kEnd;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? ReadResult::kNothingNow : ReadResult::kEnd;
  const std::string_view bytes{buffer.data(), static_cast<std::size_t>(n)};
  if (&source == &words_)
    last_words_.append(bytes);
  else
    listener_.heard(bytes);
  return ReadResult::kData;
}

void SshLink::drain(asio::posix::stream_descriptor& source) {
  while (read_some(source) == ReadResult::kData) continue;
  source.close();
}

/// Tells the end after all that was said has been heard. It does not wait for the pipes to end,
/// because other processes may hold them open.
asio::awaitable<void> SshLink::wait_for_end() {
  const auto self = shared_from_this();
  const ExitStatus status = co_await process_->wait();
  drain(from_);
  drain(words_);
  to_.close();
  process_->release();
  listener_.gone(status, last_words_.lines());
}

}  // namespace ddprun
