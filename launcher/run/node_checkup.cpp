#include "launcher/run/node_checkup.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "agent/decisions/self_check.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/process/query_process.hpp"
#include "launcher/run/node_fitness.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using namespace std::chrono_literals;

constexpr auto kBetweenLooks = 500ms;
constexpr std::size_t kAnswerBytesMax = 4096;

std::vector<std::string> question_words(const LaunchSpec& spec, bool workers_live) {
  // Also where this executable has been replaced by a newer one.
  std::vector<std::string> words{"/proc/self/exe", "doctor", kFitnessWord,
                                 "--agent=" + std::to_string(::getpid()),
                                 "--workers=" + std::to_string(spec.workers)};
  if (workers_live) words.emplace_back("--workers-live");
  if (!spec.logs.directory.empty() && !spec.logs.no_files)
    words.push_back("--log-dir=" + spec.logs.directory);
  for (const std::string& folder : spec.node.check->folders) words.push_back("--folder=" + folder);
  return words;
}

/// Reads no further than to the end of the answer: a process that hangs may keep the pipe open.
asio::awaitable<std::string> lines_of(asio::posix::stream_descriptor pipe) {
  std::string text;
  std::array<char, 1024> chunk{};
  while (text.size() < kAnswerBytesMax && std::ranges::count(text, '\n') < kFitnessLines) {
    const auto [error, bytes] =
        co_await pipe.async_read_some(asio::buffer(chunk), as_tuple(use_awaitable));
    if (error) break;
    text.append(chunk.data(), bytes);
  }
  co_return text;
}

class Checkup {
 public:
  explicit Checkup(const LaunchSpec& spec) : spec_{spec} {}

  asio::awaitable<Result<std::string>> look(std::chrono::milliseconds patience, bool workers_live) {
    const TimePoint until = Clock::now() + patience;
    asio::steady_timer timer{co_await asio::this_coro::executor};
    Result<NodeFitness> fitness = co_await look_once(workers_live);
    if (is_busy(fitness) && patience > 0ms)
      log::warn("--check-nodes: waiting {} s at most: {}", patience / 1s, fitness->seen);
    while (is_busy(fitness) && Clock::now() < until) {
      timer.expires_after(kBetweenLooks);
      co_await timer.async_wait(as_tuple(use_awaitable));
      fitness = co_await look_once(workers_live);
    }
    if (!fitness) co_return fitness.error();
    if (std::exchange(seen_, fitness->seen) != fitness->seen) tell(*fitness);
    if (fitness->state == NodeFitness::State::kFit || is_alone()) co_return "";
    co_return "fails its check: " + fitness->seen;
  }

 private:
  static bool is_busy(const Result<NodeFitness>& fitness) {
    return fitness && fitness->state == NodeFitness::State::kBusy;
  }

  asio::awaitable<Result<NodeFitness>> look_once(bool workers_live) {
    const auto executor = co_await asio::this_coro::executor;
    QueryProcess child = QueryProcess::run(kCheckAnswer, question_words(spec_, workers_live));
    if (!child.started()) co_return Error{Error::Kind::kUnavailable, "no process could be started"};
    auto answer = lines_of(asio::posix::stream_descriptor{executor, child.release_pipe()});
    const auto text = co_await in_time(Clock::now() + kCheckAnswer, std::move(answer));
    if (!text)
      co_return Error{Error::Kind::kTimeout, "no answer within " + seconds_text(kCheckAnswer)};
    co_return parse_fitness(*text);
  }

  /// No other node can have its place.
  bool is_alone() const { return spec_.terms.has_one_node(); }

  void tell(const NodeFitness& fitness) const {
    if (fitness.state == NodeFitness::State::kFit)
      return log::warn("--check-nodes: this node is fit again");
    log::warn("--check-nodes: this node is not fit: {}; {}{}", fitness.seen, fitness.advice,
              is_alone() ? "; the job has no other one, and goes on" : "");
  }

  const LaunchSpec& spec_;
  std::string seen_;  // by the last look that has found out something
};

/// The agent may have ended before the look has.
asio::awaitable<Result<std::string>> look_by(std::shared_ptr<Checkup> checkup,
                                             std::chrono::milliseconds patience,
                                             bool workers_live) {
  co_return co_await checkup->look(patience, workers_live);
}

}  // namespace

CheckNode node_checkup(const LaunchSpec& spec) {
  return [checkup = std::make_shared<Checkup>(spec)](std::chrono::milliseconds patience,
                                                     bool workers_live) {
    return look_by(checkup, patience, workers_live);
  };
}

}  // namespace ddprun
