#include "agent/agent.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/error_file.hpp"
#include "agent/job_signals.hpp"
#include "agent/process_tree.hpp"
#include "base/fresh_id.hpp"
#include "base/match.hpp"
#include "base/report_failure.hpp"
#include "rendezvous/rounds/client.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;

/// More would only wait for each other in the kernel.
constexpr int kSpawnThreadsMax = 16;

/// Of a traceback, which travels to the coordinator in one message.
constexpr std::size_t kTracebackBytesMax = 16 * 1024;

}  // namespace

Agent::Agent(const asio::any_io_executor& executor, LaunchSpec spec, NodeFacts node,
             Consoles consoles)
    : executor_{executor},
      spec_{std::move(spec)},
      node_{std::move(node)},
      consoles_{consoles},
      pool_{std::min({spec_.workers, node_.usable_cpus, kSpawnThreadsMax})},
      machine_{{spec_.workers, spec_.shutdown_timeout, spec_.rules.heartbeat_timeout,
                !node_.run.coordinator_here, spec_.preempt_timeout, spec_.checkpoint_signal}},
      signals_{executor},
      preemption_{executor},
      passed_on_{executor},
      alarm_{executor, TimePoint::max()},
      beat_{executor},
      wake_{executor, TimePoint::max()} {
  const auto is_of = [](const std::vector<int>& signals, int signal) {
    return std::ranges::count(signals, signal) > 0;
  };
  for (const int signal : spec_.preempt_signals)
    if (!is_ignored(signal)) preemption_.add(signal);
  for (const int signal : spec_.stop_signals)
    if (!is_ignored(signal) && !is_of(spec_.preempt_signals, signal)) signals_.add(signal);
  for (const int signal : kPassedOn)
    if (!is_ignored(signal) && !is_of(spec_.stop_signals, signal) &&
        !is_of(spec_.preempt_signals, signal))
      passed_on_.add(signal);
}

asio::awaitable<AgentEnd> Agent::run() {
  adopt_orphans();
  if (spec_.warm) {
    nursery_ = std::make_unique<Nursery>(executor_, pool_, plan_nursery(spec_, node_));
    nursery_->begin();
  }
  co_spawn(executor_, watch_signals(), report_failure("waiting for signals"));
  co_spawn(executor_, watch_preemption(), report_failure("waiting for the scheduler's signals"));
  co_spawn(executor_, pass_on_signals(), report_failure("handing on signals"));
  co_spawn(executor_, ring_alarm(), report_failure("the agent's clock"));
  co_spawn(executor_, stay_connected(), report_failure("talking to the coordinator"));
  co_await ended();
  signals_.cancel();
  preemption_.cancel();
  passed_on_.cancel();
  alarm_.cancel();
  beat_.cancel();
  leave_store();
  if (coordinator_) coordinator_->close_when_sent();
  co_await end_nursery();
  co_return *end_;
}

/// Nothing of it may be left when ddprun ends, either.
asio::awaitable<void> Agent::end_nursery() {
  if (!nursery_) co_return;
  nursery_->end();
  co_await kill_descendants(kKillTimeout, [this] { return no_workers(); });
}

/// The children that stay when workers go.
std::vector<pid_t> Agent::no_workers() const {
  std::vector<pid_t> pids{node_.guardian};
  if (nursery_) pids.push_back(nursery_->pid());
  return pids;
}

asio::awaitable<void> Agent::ended() {
  while (!end_) co_await wake_.async_wait(as_tuple(use_awaitable));
}

/// From one connection to the next, for as long as the machine wants one.
asio::awaitable<void> Agent::stay_connected() {
  const Patience first{spec_.rules.join_timeout, spec_.rules.join_timeout};
  const Patience later{spec_.rules.join_timeout, spec_.rules.heartbeat_timeout};
  for (Patience patience = first; !end_; patience = later) {
    auto first_of = co_await (connect(node_.run.coordinator, patience) || ended());
    if (first_of.index() == 1) co_return;
    auto channel = std::get<0>(std::move(first_of));
    if (!channel) co_return step(CoordinatorUnreachable{channel.error().message});
    join(std::move(*channel));
    co_await receive_orders();
    while (!rejoin_ && !end_) co_await wake_.async_wait(as_tuple(use_awaitable));
    rejoin_ = false;
  }
}

void Agent::join(std::shared_ptr<Channel> channel) {
  coordinator_ = std::move(channel);
  if (spec_.rules.store == StoreAt::kLocal)
    store_ = std::make_shared<TunnelEntrance>(executor_, coordinator_);
  step(Connected{});
  coordinator_->send(encode(AgentMessage{Join{.run_id = node_.run.run_id,
                                              .node = fresh_id(),
                                              .host = node_.run.host,
                                              .workers = spec_.workers,
                                              .role = spec_.role,
                                              .node_rank = spec_.meeting.node_rank,
                                              .terms = terms_of(spec_)}}));
}

asio::awaitable<void> Agent::receive_orders() {
  const auto channel = coordinator_;
  while (!end_) {
    const Result<std::string> line = co_await channel->receive();
    const auto message =
        line ? decode_coordinator_message(*line) : Result<CoordinatorMessage>{line.error()};
    if (!message) {
      leave_store();
      co_return step(CoordinatorLost{message.error().message});
    }
    order_received(*message);
    step(Ordered{*message});
  }
}

/// What an order means beside what GroupMachine decides: heartbeats begin, and users are told.
void Agent::order_received(const CoordinatorMessage& message) {
  if (const auto* joined = std::get_if<Joined>(&message))
    co_spawn(executor_,
             beat(coordinator_, std::chrono::milliseconds{joined->heartbeat_timeout_ms} / 5),
             report_failure("the agent's heartbeat"));
  else if (const auto* start = std::get_if<StartRound>(&message))
    announce(*start);
  else if (const auto* waiting = std::get_if<Waiting>(&message))
    tell_of_wait(*waiting);
  else if (const auto* spare = std::get_if<Spare>(&message))
    spdlog::warn("round {} has its {} nodes: this one waits as a spare", spare->round,
                 spare->nodes);
  else if (const auto* stop = std::get_if<StopRound>(&message))
    tell_of_job(stop->reason + (stop->checkpoint_ms > 0
                                    ? fmt::format(": workers have {} s for a checkpoint",
                                                  (stop->checkpoint_ms + 999) / 1000)
                                    : ": stopping all workers"));
}

/// What every node could tell.
void Agent::tell_of_job(const std::string& news) const {
  spdlog::log(node_.run.tells_job ? spdlog::level::warn : spdlog::level::info, "{}", news);
}

void Agent::tell_of_wait(const Waiting& waiting) {
  if (const auto note = wait_note_.next(waiting, Clock::now())) tell_of_job(*note);
}

void Agent::announce(const StartRound& round) {
  wait_note_ = {};
  if (round.attempt > round_.attempt)
    tell_of_job(fmt::format("restart {} of {}: starting {} workers again", round.attempt,
                            spec_.rules.restarts_max, round.world_size));
  spdlog::info("round {}: ranks {} to {} of {} on this node", round.round, round.first_rank,
               round.first_rank + spec_.workers - 1, round.world_size);
}

asio::awaitable<void> Agent::beat(std::shared_ptr<Channel> channel,
                                  std::chrono::milliseconds interval) {
  while (!end_ && channel == coordinator_) {
    beat_.expires_after(interval);
    const auto [cancelled] = co_await beat_.async_wait(as_tuple(use_awaitable));
    if (cancelled) co_return;
    channel->send(encode(AgentMessage{Beat{}}));
  }
}

asio::awaitable<void> Agent::watch_signals() {
  while (!end_) {
    const auto [error, signal] = co_await signals_.async_wait(as_tuple(use_awaitable));
    if (error) co_return;
    spdlog::warn("{} received: stopping the workers of this node", signal_name(signal));
    step(StopSignal{signal});
  }
}

asio::awaitable<void> Agent::watch_preemption() {
  while (!end_) {
    const auto [error, signal] = co_await preemption_.async_wait(as_tuple(use_awaitable));
    if (error) co_return;
    spdlog::info("{} received: the scheduler announces the end", signal_name(signal));
    step(EndAnnounced{signal});
  }
}

asio::awaitable<void> Agent::pass_on_signals() {
  while (!end_) {
    const auto [error, signal] = co_await passed_on_.async_wait(as_tuple(use_awaitable));
    if (error) co_return;
    if (signal == SIGWINCH) {
      for (const auto& worker : workers_) {
        worker->out->resize();
        worker->err->resize();
      }
    } else {
      spdlog::info("{} received: handed on to the workers", signal_name(signal));
    }
    step(PassOn{signal});
  }
}

asio::awaitable<void> Agent::ring_alarm() {
  while (!end_) {
    co_await alarm_.async_wait(as_tuple(use_awaitable));
    if (Clock::now() >= alarm_.expiry()) step(Alarm{});
  }
}

void Agent::step(const GroupEvent& event) {
  for (const GroupAction& action : machine_.step(event, Clock::now())) perform(action);
  const TimePoint due = machine_.next_alarm().value_or(TimePoint::max());
  if (due != alarm_.expiry()) alarm_.expires_at(due);
}

void Agent::perform(const GroupAction& action) {
  match(
      action,  //
      [&](const StartWorkers& a) { start_workers(a.round); },
      [&](const SignalWorkers& a) { signal_workers(a); },
      [&](const AskForCheckpoint& a) {
        stopping_ = true;
        for (const auto& worker : workers_)
          if (!worker->ended) worker->process.signal(a.signal);
      },
      [&](const SweepTree&) {
        co_spawn(executor_, sweep_tree(), report_failure("cleaning up after workers"));
      },
      [&](const Tell& a) {
        if (coordinator_) coordinator_->send(encode(a.message));
      },
      [&](const Disconnect&) { coordinator_->close(); },
      [&](const Rejoin&) {
        rejoin_ = true;
        wake_.cancel();
      },
      [&](const Warn& a) { spdlog::warn("{}", a.text); },
      [&](const Exit& a) {
        end_ = a.end;
        wake_.cancel();
      });
}

void Agent::signal_workers(const SignalWorkers& order) {
  stopping_ = stopping_ || order.to_stop;
  if (nursery_) nursery_->look_again();
  for (const auto& worker : workers_)
    if (!worker->ended) worker->process.signal_group(order.signal);
}

void Agent::start_workers(const StartRound& round) {
  round_ = round;
  const auto store = open_store();
  outcome_ = {};
  stopping_ = false;
  oom_before_ = read_oom_counters();
  make_directories();
  make_heartbeat_board();
  std::vector<Command> commands = plan_workers(spec_, round_, node_);
  std::vector<NewWorker> fresh;
  std::vector<NewChild> children;
  for (int local_rank = 0; local_rank < spec_.workers; ++local_rank) {
    auto worker = store ? open_output(local_rank) : Result<NewWorker>{store.error()};
    if (!worker) {
      cannot_start(local_rank, worker.error());
      continue;
    }
    children.push_back(
        {std::move(commands[local_rank]), {worker->out->worker_end(), worker->err->worker_end()}});
    fresh.push_back(std::move(*worker));
  }
  ++starts_;
  if (nursery_) {
    co_spawn(executor_, start_warm(std::move(fresh), std::move(children)),
             report_failure("starting workers"));
    return;
  }
  auto processes = ChildProcess::spawn(executor_, pool_, children);
  take_on_all(fresh, processes);
}

/// Where the workers of this round meet the others.
Result<void> Agent::open_store() {
  if (store_) {
    const auto port = store_->open(round_.round);
    if (!port) return port.error();
    round_.master_addr = "127.0.0.1";
    round_.master_port = *port;
  }
  if (round_.master_addr.empty()) round_.master_addr = node_.run.coordinator.host;
  spdlog::info("the store is at {} port {}", round_.master_addr, round_.master_port);
  return {};
}

void Agent::leave_store() {
  if (store_) store_->close();
}

/// Meanwhile they may be told to stop, or be given up.
asio::awaitable<void> Agent::start_warm(std::vector<NewWorker> fresh,
                                        std::vector<NewChild> children) {
  const int start = starts_;
  const auto unwanted = [this, start] { return stopping_ || start != starts_; };
  auto processes = co_await nursery_->spawn(std::move(children), unwanted);
  if (start != starts_) co_return;
  take_on_all(fresh, processes);
  if (!stopping_) co_return;
  for (const auto& worker : workers_) worker->process.signal_group(SIGKILL);
}

void Agent::take_on_all(const std::vector<NewWorker>& fresh,
                        std::vector<Result<ChildProcess>>& processes) {
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (processes[i])
      take_on(fresh[i], std::move(*processes[i]));
    else
      cannot_start(fresh[i].local_rank, processes[i].error());
  }
}

/// For error files and logs. Where one cannot be made, opening the file says so.
void Agent::make_directories() {
  const auto directory = attempt_directory(node_, round_);
  if (directory.empty()) return;
  std::error_code not_made;
  std::filesystem::create_directory(directory, not_made);
  for (int local_rank = 0; local_rank < spec_.workers; ++local_rank)
    std::filesystem::create_directory(directory / std::to_string(local_rank), not_made);
}

/// A fresh one for every round: nothing of the last one's workers is in it.
void Agent::make_heartbeat_board() {
  heartbeats_.reset();
  node_.heartbeats.clear();
  auto board = HeartbeatBoard::create(spec_.workers);
  if (!board) return spdlog::warn("{}", board.error().message);
  heartbeats_ = std::move(*board);
  node_.heartbeats = heartbeats_->path();
}

Result<Agent::NewWorker> Agent::open_output(int local_rank) {
  OutputPlan plan =
      plan_output(spec_, round_, attempt_directory(node_, round_), node_.terminals, local_rank);
  auto out = LogPump::open(executor_, consoles_.out, std::move(plan.out));
  if (!out) return out.error();
  auto err = LogPump::open(executor_, consoles_.err, std::move(plan.err));
  if (!err) return err.error();
  return NewWorker{local_rank, std::move(*out), std::move(*err)};
}

void Agent::take_on(const NewWorker& worker, ChildProcess process) {
  worker.out->start();
  worker.err->start();
  workers_.push_back(std::make_shared<Worker>(
      Worker{worker.local_rank, std::move(process), worker.out, worker.err, false}));
  co_spawn(executor_, watch(workers_.back()), report_failure("watching a worker"));
}

/// Told as a shell tells it: 127 for a program that is not there, 126 for one that does not start.
/// Posted: the machine takes one event at a time, and this one arises within its actions.
void Agent::cannot_start(int local_rank, const Error& error) {
  const ExitStatus status{.code = error.kind == Error::Kind::kNotFound ? 127 : 126};
  asio::post(executor_, [this, local_rank, status, lines = std::vector{error.message}] {
    report_exit(local_rank, 0, status, lines);
  });
}

asio::awaitable<void> Agent::watch(std::shared_ptr<Worker> worker) {
  const ExitStatus status = co_await worker->process.wait();
  worker->ended = true;
  worker->out->drain();
  worker->err->drain();
  std::vector<std::string> last_lines;
  if (!status.ok()) last_lines = worker->err->last_lines();
  if (!status.ok() && last_lines.empty()) last_lines = worker->out->last_lines();
  report_exit(worker->local_rank, worker->process.pid(), status, std::move(last_lines));
}

void Agent::report_exit(int local_rank, std::int64_t pid, ExitStatus status,
                        std::vector<std::string> last_lines) {
  WorkerFailure how{.host = node_.run.host,
                    .group_rank = round_.group_rank,
                    .rank = round_.first_rank + local_rank,
                    .local_rank = local_rank,
                    .pid = pid,
                    .status = status,
                    .time_unix_ms = unix_time_ms(),
                    .last_lines = std::move(last_lines)};
  if (stopping_) {
    outcome_.stopped.push_back(how.rank);
  } else if (!status.ok()) {
    add_evidence(how);
    outcome_.failures.push_back(how);
  }
  step(WorkerExited{how});
}

/// What the worker wrote down before it failed, and what the kernel did.
void Agent::add_evidence(WorkerFailure& how) const {
  const auto heartbeat = heartbeats_ ? heartbeats_->read(how.local_rank) : std::nullopt;
  if (heartbeat) how.last_heartbeat = describe(*heartbeat, sdk::monotonic_ns());
  if (how.status.signal == SIGKILL) how.evidence = oom_evidence(oom_before_, read_oom_counters());
  const auto path = error_file(node_, round_, how.local_rank);
  auto recorded = path.empty() ? std::nullopt : read_error_file(path);
  if (!recorded) return;
  how.error_file = path.string();
  how.message = std::move(recorded->message);
  how.traceback = std::move(recorded->traceback);
  if (how.traceback.size() > kTracebackBytesMax)
    how.traceback.erase(0, how.traceback.size() - kTracebackBytesMax);
}

asio::awaitable<void> Agent::sweep_tree() {
  ++starts_;
  for (const auto& worker : workers_) worker->process.release();
  if (const int left = co_await kill_descendants(kKillTimeout, [this] { return no_workers(); }))
    spdlog::warn("{} processes of the job could not be killed within {} s", left,
                 kKillTimeout.count() / 1000);
  for (const auto& worker : workers_) {
    worker->out->close();
    worker->err->close();
  }
  workers_.clear();
  leave_store();
  step(TreeGone{});
}

}  // namespace ddprun
