#include "agent/control/worker_socket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/process/process_facts.hpp"
#include "base/system/accept.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using asio::local::stream_protocol;

/// Connections of this many times as many processes as there are workers: what is more is no
/// worker.
constexpr std::size_t kLinesPerWorkerMax = 4;

bool has_ended(pid_t pid) {
  return pid > 0 && (is_ending(pid) || (kill(pid, 0) != 0 && errno == ESRCH));
}

}  // namespace

struct WorkerSocket::Line {
  explicit Line(stream_protocol::socket connection) : socket{std::move(connection)} {}
  stream_protocol::socket socket;
  int local_rank = -1;  // -1: it has not said hello
};

WorkerSocket::WorkerSocket(const asio::any_io_executor& executor, int workers)
    : acceptor_{executor}, workers_{workers} {}

Result<void> WorkerSocket::open(const std::filesystem::path& folder) {
  const std::string path = (folder / "control").string();
  boost::system::error_code error;
  stream_protocol::acceptor acceptor{acceptor_.get_executor()};
  acceptor.open({}, error);
  if (!error) acceptor.bind(stream_protocol::endpoint{path}, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{Error::Kind::kUnavailable, "cannot listen at " + path + ": " + error.message()};
  acceptor_ = std::move(acceptor);
  path_ = path;
  return {};
}

void WorkerSocket::begin(std::chrono::milliseconds patience, Heard heard) {
  patience_ = patience;
  heard_ = std::move(heard);
  if (!acceptor_.is_open()) return;
  start_coroutine(acceptor_.get_executor(), accept(), report_failure("what workers say"));
}

void WorkerSocket::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  for (const auto& [local_rank, line] : lines_) line->socket.close(ignored);
  lines_.clear();
}

asio::awaitable<void> WorkerSocket::accept() {
  const std::function<void(stream_protocol::socket)> take_on =
      [this](stream_protocol::socket socket) {
        if (open_ >= kLinesPerWorkerMax * static_cast<std::size_t>(workers_)) return;
        auto line = std::make_shared<Line>(std::move(socket));
        start_coroutine(acceptor_.get_executor(), hear(std::move(line)),
                        report_failure("a worker's words"));
      };
  co_await accept_all(acceptor_, take_on);
}

/// The end of a connection says nothing about its worker: if that has ended, its process shows it.
asio::awaitable<void> WorkerSocket::hear(std::shared_ptr<Line> line) {
  ++open_;
  std::string text;
  for (bool goes_on = true; goes_on;) {
    const auto [error, length] = co_await asio::async_read_until(
        line->socket, asio::dynamic_buffer(text, kWorkerLineBytesMax), '\n',
        as_tuple(use_awaitable));
    if (error) break;
    goes_on = take(line, std::string_view{text}.substr(0, length - 1));
    text.erase(0, length);
  }
  --open_;
  if (is_worker(line)) lines_.erase(line->local_rank);
}

/// Returns whether more may follow.
bool WorkerSocket::take(const std::shared_ptr<Line>& line, std::string_view text) {
  const auto heard = parse_worker_line(text);
  if (!heard) {
    log::warn("closed a worker's line: {}", heard.error().message);
    return false;
  }
  return match(
      *heard,  //
      [&](const WorkerHello& hello) { return greet(line, hello); },
      [&](const auto& word) {
        const bool is_known = is_worker(line);
        if (is_known) heard_({line->local_rank, word});
        return is_known;
      });
}

/// A worker that has said hello and died may have been replaced before anybody read it.
bool WorkerSocket::greet(const std::shared_ptr<Line>& line, const WorkerHello& hello) {
  if (hello.local_rank < 0 || hello.local_rank >= workers_) return false;
  if (const auto peer = peer_of(line->socket); peer && has_ended(peer->pid)) return false;
  line->local_rank = hello.local_rank;
  lines_[hello.local_rank] = line;
  say(*line, welcome_line(patience_));
  const auto entrance = entrances_.extract(hello.local_rank);
  if (entrance && hello.round == kNoRound) say(*line, entrance.mapped());
  heard_({hello.local_rank, CanStay{hello.round, hello.resize}});
  return true;
}

/// Whether it is of the last process that has said hello in its seat, and that one has it still.
bool WorkerSocket::is_worker(const std::shared_ptr<Line>& line) const {
  const auto known = lines_.find(line->local_rank);
  return known != lines_.end() && known->second == line;
}

void WorkerSocket::forget(const std::vector<int>& local_ranks) {
  for (const int local_rank : local_ranks) {
    entrances_.erase(local_rank);
    lines_.erase(local_rank);
  }
}

/// Lines are short, and a worker's thread reads all the time: one that does not take it is in a
/// state in which it cannot stay.
void WorkerSocket::say(Line& line, const std::string& text) {
  const auto length = static_cast<ssize_t>(text.size());
  const auto sent =
      ::send(line.socket.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == length) return;
  boost::system::error_code ignored;
  line.socket.close(ignored);
}

void WorkerSocket::tell_all(const std::string& line) {
  for (const auto& [local_rank, worker] : lines_) say(*worker, line);
}

void WorkerSocket::enter(int local_rank, int round,
                         const std::map<std::string, std::string>& environment) {
  const auto line = lines_.find(local_rank);
  const std::string text = enter_line(round, environment);
  if (line != lines_.end())
    say(*line->second, text);
  else
    entrances_[local_rank] = text;
}

}  // namespace ddprun
