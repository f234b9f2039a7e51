#include "agent/control_server.hpp"

#include <fmt/core.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "agent/output/log_file.hpp"
#include "agent/reports/hang_text.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/system/accept.hpp"
#include "base/system/late_answer.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kStatusTimeout = 2s;
constexpr auto kDumpAnswerTimeout = 5s;  // the coordinator waits for 2.5 s
constexpr auto kFollowInterval = 100ms;
constexpr auto kDiskTimeout = 2s;
// Each connection may wait for a folder of logs that does not answer.
constexpr std::size_t kReadsMax = HttpLimits{}.connections_max;
constexpr std::size_t kLogTailBytes = 16 * 1024;
constexpr std::size_t kLogTailBytesMax = 1024 * 1024;
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr char kTextType[] = "text/plain; charset=utf-8";

HttpReply sentence(unsigned status, std::string text) {
  return {http_sentence(status, std::move(text))};
}

/// The logs of a run are in one folder, so all that read there wait for it together.
LeftBehindQueue& log_reads() {
  static LeftBehindQueue reads{kReadsMax, LeftBehindQueue::Files::kOwn};
  return reads;
}

/// Follows one stream of one worker, from round to round.
class LogFollower {
 public:
  LogFollower(Agent& agent, int rank, bool err, std::size_t tail_bytes)
      : agent_{agent}, rank_{rank}, err_{err}, tail_bytes_{tail_bytes} {}

  /// Returns what is new; nullopt: the log's folder does not answer by then. It is not called again
  /// after that.
  asio::awaitable<std::optional<std::string>> next(TimePoint deadline) {
    auto output = agent_.output_of(rank_, err_);
    if (!output) co_return "";
    if (output->file.empty()) co_return next_of(*output);
    if (file_ != output->file) {
      file_ = output->file;
      reader_ = std::make_shared<std::optional<LogReader>>();
      file_tail_ = std::exchange(tail_bytes_, kLogTailBytesMax);
    }
    const std::function<std::string()> read = [reader = reader_, file = file_, tail = file_tail_] {
      if (!*reader) reader->emplace(file, tail);
      return (*reader)->read(kPieceBytes);
    };
    auto text = co_await late_answer(log_reads(), deadline, read);
    co_return text;
  }

  /// The file that was read last.
  std::string file() const { return file_.string(); }

 private:
  /// A worker without a file has its last lines here, and what it writes from then on.
  std::string next_of(const WorkerOutput& output) {
    if (output.round == round_) return feed_ ? feed_->take() : "";
    round_ = output.round;
    feed_ = agent_.follow(rank_, err_);
    std::string text;
    for (const std::string& line : output.last_lines) text += line + "\n";
    return text;
  }

  Agent& agent_;
  int rank_;
  bool err_;
  std::size_t tail_bytes_;
  std::filesystem::path file_;
  std::shared_ptr<std::optional<LogReader>> reader_;  // the thread has it, too
  std::size_t file_tail_ = 0;
  std::shared_ptr<OutputFeed> feed_;
  int round_ = 0;
};

/// All that is there now; nullopt: the log's folder does not answer.
asio::awaitable<std::optional<std::string>> read_all(LogFollower& log) {
  const TimePoint deadline = Clock::now() + kDiskTimeout;
  std::string text;
  for (;;) {
    const auto more = co_await log.next(deadline);
    if (!more) co_return std::nullopt;
    text += *more;
    if (more->empty() || text.size() >= kLogTailBytesMax) co_return text;
  }
}

asio::awaitable<void> follow(std::shared_ptr<LogFollower> log, HttpStream& stream) {
  for (;;) {
    auto more = co_await log->next(TimePoint::max());
    if (!more) co_return;
    const bool idle = more->empty();
    if (!idle) {
      const bool written = co_await stream.write(std::move(*more));
      if (!written) co_return;
      continue;
    }
    const bool goes_on = co_await stream.pause(kFollowInterval);
    if (!goes_on) co_return;
  }
}

asio::awaitable<void> until_gone(HttpStream& stream) {
  for (bool stays = true; stays;) stays = co_await stream.pause(1h);
}

}  // namespace

ControlServer::ControlServer(JobFolder::Acceptor acceptor, JobFacts facts, Agent& agent)
    : acceptor_{std::move(acceptor)},
      facts_{std::move(facts)},
      agent_{agent},
      server_{acceptor_.get_executor(), {}, [this](HttpRequest request) {
                return answer(std::move(request));
              }} {
  start_coroutine(acceptor_.get_executor(), accept(), report_failure("the job's control socket"));
}

void ControlServer::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  server_.close();
}

asio::awaitable<void> ControlServer::accept() {
  using Socket = JobFolder::Acceptor::protocol_type::socket;
  const std::function<void(Socket)> serve = [this](Socket socket) {
    server_.serve(HttpSocket{std::move(socket)});
  };
  co_await accept_all(acceptor_, serve);
}

asio::awaitable<HttpReply> ControlServer::answer(HttpRequest request) {
  const bool get = request.method == "GET";
  const bool post = request.method == "POST";
  if (request.path == "/status.json" && get) {
    HttpReply reply = co_await tell_status();
    co_return reply;
  }
  if (request.path == "/log" && get) {
    HttpReply reply = co_await answer_log(agent_, std::move(request));
    co_return reply;
  }
  if (request.path == "/stop" && post) co_return stop();
  if (request.path == "/debug" && post) co_return debug(request);
  if (request.path == "/interrupt" && post) co_return interrupt(request);
  if (request.path == "/dump" && post) {
    const std::string name = request.parameter("name");
    HttpReply reply = co_await dump(request.parameter("json") == "1", name);
    co_return reply;
  }
  co_return sentence(404, "there is nothing at " + request.path);
}

asio::awaitable<HttpReply> ControlServer::tell_status() {
  auto status = co_await agent_.status(kStatusTimeout);
  if (!status) co_return sentence(503, status.error().message);
  status->title = facts_.title;
  co_return HttpReply{{.type = "application/json", .body = to_json(*status)}};
}

/// `name` is how people call the job, where that is not its run id.
asio::awaitable<HttpReply> ControlServer::dump(bool as_json, std::string name) {
  const auto dump = co_await agent_.dump(kDumpAnswerTimeout);
  if (!dump) co_return sentence(503, dump.error().message);
  if (as_json)
    co_return HttpReply{{.type = "application/json", .body = dump_json(*dump, facts_.run_id)}};
  co_return HttpReply{
      {.type = kTextType, .body = dump_text(*dump, name.empty() ? facts_.run_id : name)}};
}

HttpReply ControlServer::stop() {
  log::warn("`ddprun stop` has come: stopping the workers of this node");
  agent_.stop(SIGINT);
  return sentence(200, "stopping");
}

/// The debugger is over when its user's command is, however that ends.
HttpReply ControlServer::debug(const HttpRequest& request) {
  const auto rank = parse_number<int>(request.parameter("rank"));
  const OpenDebugger order{request.parameter("socket"),
                           parse_number<int>(request.parameter("port")).value_or(0)};
  if (!rank || order.socket.empty()) return sentence(400, "expected /debug?rank=N&socket=PATH");
  const auto begun = agent_.begin_debugging(*rank, order);
  if (!begun) return sentence(503, begun.error().message);
  // The user may be gone before the answer can be sent.
  const auto end = [this, server = std::weak_ptr<bool>{is_there_}, rank = *rank](void*) {
    if (!server.expired()) agent_.end_debugging(rank);
  };
  const std::shared_ptr<void> lasts{nullptr, end};
  return {.answer = {.type = "application/json",
                     .body = fmt::format("{{\"pid\":{},\"has_python\":{}}}\n", begun->pid,
                                         begun->has_python)},
          .more = [lasts](HttpStream& stream) { return until_gone(stream); }};
}

HttpReply ControlServer::interrupt(const HttpRequest& request) {
  const auto rank = parse_number<int>(request.parameter("rank"));
  if (!rank) return sentence(400, "expected /interrupt?rank=N");
  agent_.interrupt_debugged(*rank);
  return sentence(200, "interrupted");
}

asio::awaitable<HttpReply> answer_log(Agent& agent, HttpRequest request) {
  const auto rank = parse_number<int>(request.parameter("rank"));
  const std::string stream = request.parameter("stream");
  if (!rank || *rank < 0 || (stream != "out" && stream != "err"))
    co_return sentence(400, "expected /log?rank=N&stream=out or err");
  const auto bytes = parse_number<std::size_t>(request.parameter("bytes")).value_or(kLogTailBytes);
  const bool err = stream == "err";
  if (!agent.output_of(*rank, err))
    co_return sentence(404, "no worker of this node has rank " + std::to_string(*rank));
  const auto log =
      std::make_shared<LogFollower>(agent, *rank, err, std::min(bytes, kLogTailBytesMax));
  if (request.parameter("follow") == "1")
    co_return HttpReply{{.type = kTextType}, [log](HttpStream& to) { return follow(log, to); }};
  auto text = co_await read_all(*log);
  if (!text)
    co_return sentence(503, fmt::format("no answer from '{}': {}", log->file(), kIsItThere));
  co_return HttpReply{{.type = kTextType, .body = std::move(*text)}};
}

}  // namespace ddprun
