// A swarm of agents in one process, to see how a coordinator bears thousands: each has a connection
// of its own, joins, beats and answers as an agent does, and has no workers.
//
//   ddprun_simulated_agents HOST PORT AGENTS [--secret TEXT] [--voters]
//
// With --voters they are those that are left of a round whose coordinator was killed, and the agent
// that listens there is to follow it: it takes part in the round as well.
//
// Prints a line of JSON when every agent has its part in the first round. Then it does what the
// lines of its standard input say, with a line of JSON when every agent has its part in the round
// that follows:
//
//   lose   one connection is closed
//   join   one more agent comes, where one has been lost
//   end    all workers have finished; the line comes when every agent has heard that the job is
//   over
//
// "seconds" are from the first connect, or from the loss; "bytes_*" are of the messages since the
// last line, of all agents together.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/coroutines.hpp"
#include "base/match.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {
namespace {

using asio::as_tuple;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kConnectingMax = 512;  // fewer than a listening socket lets wait
constexpr auto kStepTimeout = 120s;
constexpr char kRunId[] = "swarm";

struct Options {
  Endpoint coordinator;
  int agents = 0;
  int heartbeat_timeout_ms = 5'000;
  std::shared_ptr<const TlsContext> tls;  // null: they do not encrypt
  bool voters = false;                    // they have lost the coordinator of their round
};

class Swarm {
 public:
  Swarm(asio::io_context& io, Options options)
      : io_{io}, options_{std::move(options)}, step_done_{io}, input_{io, dup(STDIN_FILENO)} {
    wanted_ = options_.agents;
  }

  asio::awaitable<void> run() {
    since_ = Clock::now();
    for (int i = 0; i < kConnectingMax; ++i) connect_next();
    co_await report("start");
    std::string lines;
    for (;;) {
      const auto [ended, size] = co_await asio::async_read_until(
          input_, asio::dynamic_buffer(lines), '\n', as_tuple(use_awaitable));
      if (ended) break;
      const std::string what = lines.substr(0, size - 1);
      lines.erase(0, size);
      begin(what);
      co_await report(what);
    }
    io_.stop();
  }

 private:
  void begin(const std::string& what) {
    since_ = Clock::now();
    settled_ = false;
    if (what == "lose" && agents_.size() > 1) {
      agents_.begin()->second->close();
      agents_.erase(agents_.begin());
    } else if (what == "join" && std::ssize(agents_) < options_.agents) {
      ++wanted_;
      connect_next();
    } else if (what == "end") {
      for (const auto& [number, agent] : agents_) tell(*agent, WorkersFinished{round_});
    } else {
      throw std::runtime_error{"'" + what + "' cannot be done: lose, join or end was expected"};
    }
  }

  /// Waits until what was begun has reached everybody.
  asio::awaitable<void> report(std::string what) {
    step_done_.expires_after(kStepTimeout);
    while (!settled_) {
      const auto [cancelled] = co_await step_done_.async_wait(as_tuple(use_awaitable));
      if (!cancelled && !settled_)
        throw std::runtime_error{"'" + what + "' took too long: " + std::to_string(reached_) +
                                 " of " + std::to_string(agents_.size()) + " agents were reached"};
    }
    const std::chrono::duration<double> took = settled_at_ - since_;
    const nlohmann::json line{{"step", what},
                              {"agents", agents_.size()},
                              {"seconds", took.count()},
                              {"bytes_sent", std::exchange(bytes_sent_, 0)},
                              {"bytes_received", std::exchange(bytes_received_, 0)}};
    std::cout << line.dump() << std::endl;
  }

  void connect_next() {
    if (begun_ < wanted_) start_coroutine(io_, live(begun_++), report_failure("an agent"));
  }

  asio::awaitable<void> live(int number) {
    auto connecting = connect(options_.coordinator, {kStepTimeout, 0ms}, options_.tls);
    const auto connected = co_await std::move(connecting);
    if (!connected) throw std::runtime_error{connected.error().message};
    const std::shared_ptr<Channel> channel = *connected;
    agents_[number] = channel;
    connect_next();
    tell(*channel, Join{.run_id = kRunId,
                        .node = "swarm-" + std::to_string(number),
                        .counters = {.round = others()},
                        .host = "node" + std::to_string(number),
                        .terms = {.nodes_min = 1,
                                  .nodes_max = options_.agents + others(),
                                  .heartbeat_timeout =
                                      std::chrono::milliseconds{options_.heartbeat_timeout_ms},
                                  .store = options_.tls ? StoreAt::kLocal : StoreAt::kLeader},
                        .voter = voter(number)});
    for (;;) {
      const Result<std::string> line = co_await channel->receive();
      if (!line) break;
      bytes_received_ += line->size() + 1;
      const auto order = decode_coordinator_message(*line);
      if (!order) throw std::runtime_error{order.error().message};
      obey(number, channel, *order);
    }
    if (agents_.contains(number) && !ended_)
      throw std::runtime_error{"the coordinator has closed the connection of agent " +
                               std::to_string(number)};
  }

  /// What an agent knows of the round whose coordinator was killed; nothing of one that begins.
  VoterState voter(int number) const {
    if (!options_.voters) return {};
    const Configuration last{{1, 1}, options_.agents + 1, true, number + 1};
    return {.epoch = 1,
            .promised = 1,
            .proposed = last,
            .committed = last,
            .leader = "127.0.0.1:1",
            .leader_dead = true,
            .dead_ranks = "0"};
  }

  /// Nodes of the round that are none of ours.
  int others() const { return options_.voters ? 1 : 0; }

  void obey(int number, const std::shared_ptr<Channel>& channel, const CoordinatorMessage& order) {
    match(
        order,  //
        [&](const Joined&) {
          start_coroutine(io_, beat(number, channel), report_failure("a heartbeat"));
        },
        [](const Refused& m) { throw std::runtime_error{m.reason}; },
        [](const Spare&) { throw std::runtime_error{"there are places for all agents"}; },
        [&](const RequestVote& m) {
          tell(*channel, Vote{m.epoch, m.clock_us});
        },
        [&](const Beat& m) { clock_us_ = m.clock_us; },
        [&](const Waiting& m) { clock_us_ = m.clock_us; }, [&](const StartRound& m) { started(m); },
        [&](const StopRound& m) { tell(*channel, WorkersStopped{m.round}); },
        [&](const EndJob&) {
          if (!std::exchange(ended_, true)) reached_ = 0;
          reach_one_more();
        },
        [](const auto&) {});  // simulated workers know neither hangs nor verdicts
  }

  void started(const StartRound& start) {
    if (start.round != round_) reached_ = 0;
    round_ = start.round;
    epoch_ = start.epoch;
    if (start.group_world_size == static_cast<int>(agents_.size()) + others()) reach_one_more();
  }

  void reach_one_more() {
    if (++reached_ < static_cast<int>(agents_.size())) return;
    settled_ = true;
    settled_at_ = Clock::now();
    step_done_.cancel();
  }

  asio::awaitable<void> beat(int number, std::shared_ptr<Channel> channel) {
    asio::steady_timer timer{io_};
    for (;;) {
      timer.expires_after(std::chrono::milliseconds{options_.heartbeat_timeout_ms} / 5);
      co_await timer.async_wait(use_awaitable);
      if (!agents_.contains(number)) co_return;
      tell(*channel, Beat{.echo_us = clock_us_, .round = round_, .epoch = epoch_});
    }
  }

  void tell(Channel& channel, const AgentMessage& message) {
    const std::string line = encode(message);
    bytes_sent_ += line.size();
    channel.send(line);
  }

  asio::io_context& io_;
  Options options_;
  std::map<int, std::shared_ptr<Channel>> agents_;  // by number, those that are connected
  int wanted_ = 0;                                  // agents that are to connect, ever
  int begun_ = 0;                                   // number of agents that connect or have
                                                    // connected
  int round_ = 0;
  std::int64_t epoch_ = 0;     // that round's
  std::int64_t clock_us_ = 0;  // the coordinator's clock, as it was said last
  int reached_ = 0;            // agents that know of the round, or of the end
  bool ended_ = false;
  bool settled_ = false;
  Clock::time_point since_;
  Clock::time_point settled_at_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  asio::steady_timer step_done_;
  asio::posix::stream_descriptor input_;
};

std::shared_ptr<const TlsContext> tls_with(const std::string& secret_text) {
  if (secret_text.empty()) return nullptr;
  return TlsContext::for_agent(job_key(parse_secret(secret_text).value(), kRunId)).value();
}

void raise_file_limit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace
}  // namespace ddprun

int main(int argc, char** argv) try {
  ddprun::Options options;
  std::string secret;
  CLI::App app{"Simulates the agents of a large job; standard input says what happens to them."};
  app.add_option("host", options.coordinator.host)->required();
  app.add_option("port", options.coordinator.port)->required();
  app.add_option("agents", options.agents)->required()->check(CLI::PositiveNumber);
  app.add_option("--heartbeat-timeout-ms", options.heartbeat_timeout_ms)->capture_default_str();
  app.add_flag("--voters", options.voters, "they have lost their coordinator, and elect this one");
  app.add_option("--secret", secret, "of the job 'swarm': then the agents speak TLS");
  CLI11_PARSE(app, argc, argv);
  options.tls = ddprun::tls_with(secret);

  ddprun::raise_file_limit();
  boost::asio::io_context io{1};
  ddprun::Swarm swarm{io, options};
  co_spawn(io, swarm.run(), ddprun::report_failure("the swarm"));
  io.run();
  return 0;
} catch (const std::exception& e) {
  std::cerr << "simulated_agents: " << e.what() << std::endl;
  return 1;
}
