#include "agent/workers/fork_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/workers/fork_server_source.hpp"
#include "base/coroutines.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/process/process_tree.hpp"
#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::posix::stream_descriptor;
using Clock = std::chrono::steady_clock;

constexpr auto kImportTimeout = 120s;
constexpr auto kNewsInterval = 10s;  // for somebody who waits for imports
constexpr auto kForkTimeout = 30s;   // for all workers of a round
constexpr std::size_t kPacketBytesMax = 64 * 1024;

Error refused_by_system(const std::string& what) {
  return {Error::Kind::kUnavailable, "cannot make " + what + ": " + std::strerror(errno)};
}

/// A file of this process alone, with the fork server's program. Errors: kUnavailable.
Result<Descriptor> program_file() {
  Descriptor file{memory_file("ddprun-nursery", MFD_CLOEXEC)};
  const auto length = static_cast<ssize_t>(kForkServerSource.size());
  if (file.is_open() &&
      write(file.number(), kForkServerSource.data(), kForkServerSource.size()) == length)
    return file;
  return refused_by_system("a file in memory");
}

/// What the workers of one start wait at: nothing of a start that is given up ever runs.
struct Gate {
  Descriptor way_through;
  Descriptor opener;

  static Gate make() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return {Descriptor{}, Descriptor{}};
    return {Descriptor{ends[0]}, Descriptor{ends[1]}};
  }
  /// Each takes one byte. If the gate closes before, they end.
  void open_for(std::size_t workers) const {
    const std::string bytes(workers, '.');
    if (write(opener.number(), bytes.data(), bytes.size()) != static_cast<ssize_t>(workers))
      log::warn("--warm: forked workers cannot be let go: {}", std::strerror(errno));
  }
};

/// Sends the packet and the files together. False, with errno, when the socket does not take it.
bool send_packet(int socket, std::string& packet, ChildStreams streams, int gate) {
  std::array files{streams.out, streams.err, gate};
  iovec text{packet.data(), packet.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(files))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(rights), files.data(), sizeof(files));
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace

struct ForkServer::Process {
  ChildProcess child;
  stream_descriptor socket;
  Clock::time_point begun;
  bool ready = false;
};

ForkServer::ForkServer(const asio::any_io_executor& executor, SpawnPool& pool, Command command)
    : executor_{executor},
      pool_{pool},
      command_{std::move(command)},
      changed_{executor},
      turn_{executor, asio::steady_timer::time_point::max()} {}

pid_t ForkServer::pid() const { return process_ ? process_->child.pid() : -1; }

void ForkServer::begin() {
  if (process_ || given_up_) return;
  if (const Result<void> launched = launch(); !launched) return give_up(launched.error().message);
  const auto process = process_;  // listen() runs at once, and may find that it refuses
  start_coroutine(executor_, listen(process), report_failure("listening to the fork server"));
  start_coroutine(executor_, watch(process), report_failure("watching the fork server"));
}

Result<void> ForkServer::launch() {
  // The workers are orphans of the process that forks them.
  if (const Result<void> adopts = adopt_orphans(); !adopts) return adopts.error();
  const Result<Descriptor> program = program_file();
  if (!program) return program.error();
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return refused_by_system("a socket");
  stream_descriptor ours{executor_, ends[0]};
  const Descriptor theirs{ends[1]};
  auto children =
      ChildProcess::spawn(executor_, pool_, {{command_, {}, {theirs.number(), program->number()}}});
  if (!children.front()) return children.front().error();
  process_ = std::make_shared<Process>(
      Process{std::move(*children.front()), std::move(ours), Clock::now()});
  return {};
}

asio::awaitable<void> ForkServer::listen(std::shared_ptr<Process> process) {
  while (hear_all(process)) {
    const auto [error] =
        co_await process->socket.async_wait(stream_descriptor::wait_read, as_tuple(use_awaitable));
    if (error) co_return;
  }
}

/// Reads what the process has said since. False when no more is to be expected.
bool ForkServer::hear_all(const std::shared_ptr<Process>& process) {
  std::string packet(kPacketBytesMax, '\0');
  while (process == process_) {
    const ssize_t bytes =
        ::recv(process->socket.native_handle(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (bytes <= 0) return bytes < 0 && errno == EAGAIN;
    const auto event = decode_fork_server_event({packet.data(), static_cast<std::size_t>(bytes)});
    if (event)
      heard(*process, *event);
    else
      give_up("the fork server sends invalid messages (" + event.error().message + ")");
  }
  return false;
}

void ForkServer::heard(Process& process, const ForkServerEvent& event) {
  match(
      event,  //
      [](const LeftOut& e) {
        log::warn("--warm: {} is left to every worker to import: {}", e.module, e.why);
      },
      [&](const ForkServerRefuses& e) { give_up(e.why); },
      [&](const ForkServerReady& e) {
        process.ready = true;
        log::info("fork server: pid {}, imported {} in {:.1f} s", process.child.pid(),
                  e.modules.empty() ? "nothing" : fmt::format("{}", fmt::join(e.modules, ", ")),
                  e.seconds);
      },
      [&](const Forked& e) { turns_.hear(e); },  //
      [&](const Delivered& e) { turns_.hear(e); });
  changed_.cancel();
}

/// Another one begins at once, so that it is there for the next round; but not if this one never
/// came so far, for the next may not either.
asio::awaitable<void> ForkServer::watch(std::shared_ptr<Process> process) {
  const ExitStatus status = co_await process->child.wait();
  hear_all(process);  // its last words may tell why, and come later than the news of its end
  if (process != process_) co_return;
  log::warn("--warm: the fork server {}: {}", describe(status),
            process->ready ? "starting another" : "workers of this round start the ordinary way");
  end();
  if (process->ready) begin();
}

void ForkServer::give_up(const std::string& why) {
  log::warn("--warm has no effect: {}; workers start the ordinary way", why);
  given_up_ = true;
  end();
}

void ForkServer::end() {
  if (!process_) return;
  const auto process = std::exchange(process_, nullptr);
  process->child.release();  // with its whole group
  boost::system::error_code closed_anyway;
  process->socket.close(closed_anyway);
  changed_.cancel();
}

void ForkServer::look_again() {
  changed_.cancel();
  turn_.cancel();
}

asio::awaitable<std::vector<Result<ChildProcess>>> ForkServer::spawn(
    std::vector<NewChild> children, std::function<bool()> unwanted) {
  while (!turns_.take()) {
    if (unwanted()) co_return stopped_before(children.size());
    co_await turn_.async_wait(as_tuple(use_awaitable));
  }
  auto processes = co_await spawn_now(children, unwanted);
  turns_.give_back();
  turn_.cancel();
  co_return processes;
}

/// Where the start is not wanted any more when its workers are there, they are killed.
asio::awaitable<std::vector<Result<ChildProcess>>> ForkServer::spawn_now(
    const std::vector<NewChild>& children, const std::function<bool()>& unwanted) {
  begin();
  co_await loaded(unwanted);
  if (unwanted()) co_return stopped_before(children.size());
  const Gate gate = Gate::make();
  co_await fork_all(children, gate.way_through.number());
  const ForkedFate fate = turns_.fate(unwanted());
  std::vector<Result<ChildProcess>> processes;
  for (const pid_t pid : turns_.forked())
    processes.push_back(ChildProcess::adopt_forked(executor_, pid));
  if (fate == ForkedFate::kTaken) {
    gate.open_for(children.size());
    co_return processes;
  }
  if (fate == ForkedFate::kKilled) co_return stopped_before(children.size());
  processes.clear();
  co_return ChildProcess::spawn(executor_, pool_, children);
}

/// Waits until the process is ready, or there is none.
asio::awaitable<void> ForkServer::loaded(const std::function<bool()>& unwanted) {
  while (process_ && !process_->ready && !unwanted()) {
    changed_.expires_after(kNewsInterval);
    const auto [woken] = co_await changed_.async_wait(as_tuple(use_awaitable));
    if (woken || !process_) continue;
    const auto waited = Clock::now() - process_->begun;
    if (waited > kImportTimeout)
      give_up(fmt::format("its imports take more than {} s", kImportTimeout.count()));
    else
      log::warn("--warm: still importing after {} s",
                std::chrono::duration_cast<std::chrono::seconds>(waited).count());
  }
}

/// Has the process fork all of them, and waits until they are there, or the process is not.
asio::awaitable<void> ForkServer::fork_all(const std::vector<NewChild>& children, int gate) {
  const auto process = process_;
  const std::size_t start = turns_.begin(children.size());
  if (!process || gate < 0) co_return;
  asio::steady_timer deadline{executor_, kForkTimeout};
  deadline.async_wait([this, process](const boost::system::error_code& cancelled) {
    if (cancelled || process != process_) return;
    log::warn("--warm: the fork server does not answer");
    end();
  });
  for (std::size_t i = 0; i < children.size(); ++i) {
    const OrderPlace place{start, i, i + 1 == children.size()};
    std::string order = encode_order(children[i].command, place, command_);
    const bool sent = co_await send(process, std::move(order), children[i].streams, gate);
    if (sent) continue;
    if (process == process_) end();
    co_return;
  }
  while (process == process_ && !turns_.is_delivered()) {
    changed_.expires_at(asio::steady_timer::time_point::max());
    co_await changed_.async_wait(as_tuple(use_awaitable));
  }
}

asio::awaitable<bool> ForkServer::send(std::shared_ptr<Process> process, std::string order,
                                       ChildStreams streams, int gate) {
  while (process == process_) {
    if (send_packet(process->socket.native_handle(), order, streams, gate)) co_return true;
    if (errno != EAGAIN && errno != EINTR) {
      log::warn("--warm: a worker cannot be described to the fork server: {}",
                std::strerror(errno));
      co_return false;
    }
    co_await process->socket.async_wait(stream_descriptor::wait_write, as_tuple(use_awaitable));
  }
  co_return false;
}

}  // namespace ddprun
