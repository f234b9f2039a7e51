#include "launcher/live/debug_command.hpp"

#include <spawn.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "agent/output/console.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/json/json_text.hpp"
#include "base/system/accept.hpp"
#include "base/text.hpp"
#include "launcher/live/job_client.hpp"
#include "launcher/options/command_options.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::local::stream_protocol;

constexpr auto kVisitTimeout = 3s;
/// A worker that is not in native code has connected by then.
constexpr auto kSoon = 1500ms;
constexpr std::size_t kModeBytesMax = 64;
constexpr int kSignalled = 128;

struct Wish {
  int rank = 0;
  int port = 0;  // 0: pdb in this terminal
};

/// A debugger's time in a worker, seen from its user's terminal. The agent knows of it as long as a
/// connection to it lasts; the worker connects to a socket in the job's folder, at first one that
/// only looks where the worker is in native code, and one that has stopped it.
class DebuggerVisit {
 public:
  DebuggerVisit(const CommandContext& context, FoundJob job, Wish wish)
      : context_{context},
        job_{std::move(job)},
        wish_{wish},
        executor_{context.io.get_executor()},
        path_{job_.folder / ("debug." + std::to_string(::getpid()))},
        acceptor_{context.io},
        signals_{context.io, SIGINT, SIGTERM, SIGHUP},
        keys_{context.io},
        end_{context.io, TimePoint::max()} {}
  DebuggerVisit(const DebuggerVisit&) = delete;
  ~DebuggerVisit() {
    std::error_code gone;
    std::filesystem::remove(path_, gone);
  }

  /// Until the debugger is left, or the user goes. Errors: kUnavailable and kNotFound, with a
  /// sentence.
  Result<int> run() {
    if (auto listens = listen(); !listens) return listens.error();
    start(take_connections(), "a debugger's connections");
    start(visit(), "asking for a debugger");
    start(hear_signals(), "signals");
    context_.io.restart();
    context_.io.run();
    return std::move(result_);
  }

 private:
  struct Session {
    explicit Session(stream_protocol::socket connection) : socket{std::move(connection)} {}
    stream_protocol::socket socket;
    bool looks = false;  // it has not stopped the worker
  };

  void start(asio::awaitable<void> work, const char* what) {
    start_coroutine(executor_, race(std::move(work)), report_failure(what));
  }
  asio::awaitable<void> race(asio::awaitable<void> work) {
    co_await ends_first(std::move(work), is_over());
  }
  asio::awaitable<void> is_over() {
    while (!over_) co_await end_.async_wait(as_tuple(use_awaitable));
  }
  void end(Result<int> result) {
    if (over_) return;
    over_ = true;
    result_ = std::move(result);
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    if (session_) session_->socket.close(ignored);
    end_.cancel();
  }

  Result<void> listen() {
    boost::system::error_code error;
    if (path_.native().size() >= sizeof(sockaddr_un{}.sun_path))
      return Error{Error::Kind::kUnavailable,
                   "cannot listen at " + path_.string() + ": the path is too long"};
    acceptor_.open({}, error);
    if (!error) acceptor_.bind(stream_protocol::endpoint{path_.string()}, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error{Error::Kind::kUnavailable,
                   "cannot listen at " + path_.string() + ": " + error.message()};
    return {};
  }

  std::string name() const { return "rank " + std::to_string(wish_.rank); }

  /// Tells the agent, as long as the debugger is open.
  asio::awaitable<void> visit() {
    auto socket = connect_to_job(executor_, job_);
    if (!socket) co_return end(socket.error());
    HttpQuestion question{.method = "POST",
                          .target = "/debug?rank=" + std::to_string(wish_.rank) +
                                    "&port=" + std::to_string(wish_.port) +
                                    "&socket=" + in_query(path_.string())};
    const auto hear = [this](std::string_view piece) {
      if (pid_ == 0) begin(piece);
      return true;
    };
    const auto heard =
        co_await follow_http(std::move(*socket), std::move(question), kVisitTimeout, hear);
    if (!heard) co_return end(heard.error());
    if (heard->status != 200)
      co_return end(Error{Error::Kind::kUnavailable, first_plain_line(heard->body)});
    end(Error{Error::Kind::kUnavailable, "the job has ended"});
  }

  void begin(std::string_view told) {
    const auto facts = json_or_null(told);
    pid_ = static_cast<pid_t>(integer_in(member(*facts, "pid")).value_or(-1));
    const bool has_python = bool_in(member(*facts, "has_python")).value_or(false);
    if (!has_python) return end(run_gdb());
    start(say_what_it_waits_for(), "waiting for a worker");
  }

  /// It has the terminal and its signals meanwhile.
  Result<int> run_gdb() {
    const std::string process = std::to_string(pid_);
    context_.err.write(name() + " (process " + process +
                       ") runs no Python that ddprun can look into: gdb\n");
    context_.err.flush_blocking();
    std::array<std::string, 4> words{"gdb", "-q", "-p", process};
    std::array<char*, 5> arguments{};
    for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
    pid_t gdb = 0;
    if (::posix_spawnp(&gdb, "gdb", nullptr, nullptr, arguments.data(), environ) != 0)
      return Error{Error::Kind::kUnavailable,
                   "there is no gdb; where it is installed, gdb -p " + process + " looks into it"};
    int status = 0;
    while (::waitpid(gdb, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  }

  asio::awaitable<void> say_what_it_waits_for() {
    co_await until(Clock::now() + kSoon);
    if (session_) co_return;
    context_.err.write(name() +
                       " has not stopped yet: it goes on until others wait for it with the longer "
                       "time, or is in native code that keeps Python's lock. Ctrl-C ends this.\n");
  }

  asio::awaitable<void> take_connections() {
    const std::function<void(stream_protocol::socket)> take = [this](stream_protocol::socket s) {
      start(serve(std::make_shared<Session>(std::move(s))), "a debugger's connection");
    };
    co_await accept_all(acceptor_, take);
  }

  /// Its first line says what kind it is. Then its text is for the user.
  asio::awaitable<void> serve(std::shared_ptr<Session> session) {
    std::string text;
    const auto [error, length] = co_await asio::async_read_until(
        session->socket, asio::dynamic_buffer(text, kModeBytesMax), '\n', as_tuple(use_awaitable));
    if (error) co_return;
    session->looks = text.starts_with("looks\n");
    boost::system::error_code ignored;
    if (session_) session_->socket.close(ignored);
    if (session_) context_.out.write("\n");
    if (!std::exchange(session_, session)) start(read_keys(), "reading the keyboard");
    context_.out.write(std::string_view{text}.substr(length));
    co_await copy(*session);
    if (session_ != session) co_return;
    if (::kill(pid_, 0) != 0) context_.err.write(name() + " has ended.\n");
    end(0);
  }

  asio::awaitable<void> copy(Session& session) {
    std::array<char, 16 * 1024> piece{};
    for (;;) {
      const auto [error, bytes] =
          co_await session.socket.async_read_some(asio::buffer(piece), as_tuple(use_awaitable));
      if (error) co_return;
      context_.out.write({piece.data(), bytes});
    }
  }

  /// The end of the input is that of the debugger.
  asio::awaitable<void> read_keys() {
    keys_.assign(::dup(STDIN_FILENO));
    std::array<char, 4096> piece{};
    for (;;) {
      const auto [error] = co_await keys_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                     as_tuple(use_awaitable));
      if (error) co_return;
      const ssize_t bytes = ::read(keys_.native_handle(), piece.data(), piece.size());
      if (bytes <= 0) break;
      const auto session = session_;  // another one may take its place meanwhile
      co_await asio::async_write(session->socket,
                                 asio::buffer(piece.data(), static_cast<std::size_t>(bytes)),
                                 as_tuple(use_awaitable));
    }
    boost::system::error_code ignored;
    session_->socket.shutdown(stream_protocol::socket::shutdown_send, ignored);
  }

  asio::awaitable<void> hear_signals() {
    for (;;) {
      const auto [error, signal] = co_await signals_.async_wait(as_tuple(use_awaitable));
      if (error) co_return;
      const bool is_in = session_ && !session_->looks && wish_.port == 0;
      if (signal != SIGINT || !is_in) co_return end(kSignalled + signal);
      HttpQuestion question{.method = "POST",
                            .target = "/interrupt?rank=" + std::to_string(wish_.rank)};
      auto socket = connect_to_job(executor_, job_);
      if (socket) co_await ask_http(std::move(*socket), std::move(question), kVisitTimeout);
    }
  }

  const CommandContext& context_;
  const FoundJob job_;
  const Wish wish_;
  asio::any_io_executor executor_;
  const std::filesystem::path path_;  // the socket's
  stream_protocol::acceptor acceptor_;
  asio::signal_set signals_;
  asio::posix::stream_descriptor keys_;
  asio::steady_timer end_;  // cancelled when it is over
  bool over_ = false;
  Result<int> result_ = 0;
  pid_t pid_ = 0;                     // the worker's; 0: not known yet
  std::shared_ptr<Session> session_;  // the last one
};

Error not_here(const JobStatus& status, int rank) {
  const NodeStatus* const node = node_of(status, rank);
  const std::string text = std::to_string(rank);
  if (node == nullptr)
    return {Error::Kind::kNotFound, "debug: the job has no rank " + text + " now"};
  const std::string host = plain_line(node->host);
  return {Error::Kind::kNotFound, "debug: rank " + text + " runs on " + host + ": ssh -t " + host +
                                      " ddprun debug " + text};
}

}  // namespace

Result<int> run_debug(const std::vector<std::string>& words, const CommandContext& context) {
  Wish wish;
  std::vector<std::string> names;
  CommandOptions command{
      "Opens a debugger in one rank of a running job, in this terminal: pdb for Python, gdb for "
      "other programs. The script is as it is, and the rank goes on when the debugger is left. "
      "Meanwhile no rank is called hung or slow, and torch's process groups wait.",
      "ddprun debug"};
  command.argument("[JOB] RANK", names, "the job, if several run, and the worker's rank",
                   {.required = true, .count_max = 2});
  command.option("--port", wish.port, "PORT",
                 "let an editor in at that port of this machine's loopback, with the package "
                 "debugpy in the worker's environment",
                 {.least = 1, .most = 65535});
  command.examples("ddprun debug 3\nddprun debug train.py 3\nddprun debug 3 --port 5678");
  if (const auto done = command.parse(words, context.out)) return *done;
  const auto meant = find_rank("debug", names);
  if (!meant) return meant.error();
  wish.rank = meant->rank;
  const auto status = status_of_job(context.io, meant->agents);
  if (!status) return status.error();
  const FoundJob* const agent = agent_of(meant->agents, *status, wish.rank);
  if (agent == nullptr) return not_here(*status, wish.rank);
  DebuggerVisit visit{context, *agent, wish};
  return visit.run();
}

}  // namespace ddprun
