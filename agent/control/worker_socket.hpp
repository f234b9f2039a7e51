// WorkerSocket takes what this node's workers say that can stay while members of the job change,
// and tells them when to leave a round and when to enter the next one: see worker_words.hpp. It
// listens at a Unix socket in a private folder of the agent, which workers find in DDPRUN_CONTROL.
//
// It decides nothing. One thread, that of the event loop, calls it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/control/worker_words.hpp"
#include "agent/decisions/agent_events.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

class WorkerSocket {
 public:
  using Heard = std::function<void(const WorkerSaid&)>;

  /// For at most `workers` workers. Until open() no worker can connect.
  WorkerSocket(const asio::any_io_executor& executor, int workers);
  ~WorkerSocket() { close(); }
  WorkerSocket(const WorkerSocket&) = delete;

  /// Listens in `folder`. Errors: kUnavailable.
  Result<void> open(const std::filesystem::path& folder);

  /// The socket's; "" until it is open.
  const std::string& path() const { return path_; }

  /// `heard` is called with what workers say; never from within a call of this class. An order may
  /// take `patience` to come, behind the loss that it follows from.
  void begin(std::chrono::milliseconds patience, Heard heard);

  /// Sends all that can stay an order of worker_words.hpp.
  void tell_all(const std::string& line);
  /// Sends a worker its next round, and its variables there. A worker that prepares, and
  /// has not said hello yet, gets them when it does.
  void enter(int local_rank, int round, const std::map<std::string, std::string>& environment);

  /// Workers are started now in these seats. They enter no round of before, and what is still heard
  /// of others that had the seats is not theirs.
  void forget(const std::vector<int>& local_ranks);

  void close();

 private:
  struct Line;

  asio::awaitable<void> accept();
  asio::awaitable<void> hear(std::shared_ptr<Line> line);
  bool take(const std::shared_ptr<Line>& line, std::string_view text);
  bool greet(const std::shared_ptr<Line>& line, const WorkerHello& hello);
  bool is_worker(const std::shared_ptr<Line>& line) const;
  void say(Line& line, const std::string& text);

  asio::local::stream_protocol::acceptor acceptor_;
  std::string path_;
  const int workers_;
  std::chrono::milliseconds patience_{};
  Heard heard_;
  std::map<int, std::shared_ptr<Line>> lines_;  // by local rank: the last one that said hello
  std::map<int, std::string> entrances_;        // by local rank: what waits for a worker's hello
  std::size_t open_ = 0;                        // connections
};

}  // namespace ddprun
