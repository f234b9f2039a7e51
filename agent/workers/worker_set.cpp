#include "agent/workers/worker_set.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "agent/workers/round_folder.hpp"
#include "agent/workers/stopping.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/process/process_facts.hpp"
#include "base/process/process_tree.hpp"
#include "base/system/linux_calls.hpp"
#include "ddprun/worker_env.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

namespace {

constexpr int kSpawnThreadsMax = 16;  // more would only wait for each other in the kernel
bool is_alive(const auto& workers, int local_rank) {
  return std::ranges::any_of(workers, [&](const auto& worker) {
    return worker->local_rank == local_rank && !worker->ended();
  });
}

std::vector<pid_t> living(const auto& workers) {
  std::vector<pid_t> pids;
  for (const auto& worker : workers)
    if (!worker->ended()) pids.push_back(worker->process.pid());
  return pids;
}

/// One that is ending by then does not end because of it. The kernel closes a process's connections
/// some time before it can be reaped, so another worker that lost one may have been reaped first.
void note_stop_sent(auto& worker, int signal) {
  const bool is_over = worker.process.has_ended() || is_ending(worker.process.pid());
  if (!worker.stop_sent_at && !is_over) worker.stop_sent_at = Clock::now();
  worker.killed = worker.killed || signal == SIGKILL;
}

FoldTarget fold_target(const StreamPlan& stream, const FoldTarget& target) {
  return stream.folded ? target : FoldTarget{};
}

void forget(auto& workers, const auto& is_gone) {
  for (const auto& worker : workers) {
    if (!is_gone(worker)) continue;
    worker->out->close();
    worker->err->close();
    worker->process.release();
  }
  std::erase_if(workers, is_gone);
}

/// The worker that the process is, or is below of; nullptr: there is none, or it has ended.
auto* worker_above(const auto& workers, pid_t pid) {
  for (const pid_t above : read_lineage(pid))
    for (const auto& worker : workers)
      if (worker->process.pid() == above) return worker.get();
  return decltype(workers.front().get()){nullptr};
}

}  // namespace

WorkerSet::WorkerSet(const asio::any_io_executor& executor, const LaunchSpec& spec, NodeFacts node,
                     Consoles consoles, ExitListener exited, OomReader oom)
    : executor_{executor},
      spec_{spec},
      node_{std::move(node)},
      consoles_{consoles},
      exited_{std::move(exited)},
      files_{uses_log_folder(spec_.logs) ? LogWriter::make(executor_) : nullptr},
      evidence_{node_, std::move(oom), files_},
      spawner_{executor_, std::min({spec_.workers, node_.machine.usable_cpus, kSpawnThreadsMax})} {}

void WorkerSet::warm_up() {
  if (!spec_.warm) return;
  fork_server_ =
      std::make_unique<ForkServer>(executor_, spawner_.pool(), plan_fork_server(spec_, node_));
  fork_server_->begin();
}

std::map<int, std::map<std::string, std::string>> WorkerSet::start(const StartRound& round,
                                                                   bool parked) {
  begin_round(round);
  std::vector<Command> commands = plan_workers(spec_, round_, node_);
  const int of = spec_.workers;
  const RankList preparing = parked ? ranks_from(0, of) : seats_in(round_.vacant, of);
  for (const int i : preparing)
    commands[i].environment.push_back(std::string{sdk::env::kParked} + "=1");
  std::map<int, std::map<std::string, std::string>> stayed;
  std::vector<NewWorker> fresh;
  std::vector<NewChild> children;
  for (int local_rank = 0; local_rank < spec_.workers; ++local_rank) {
    if (is_alive(workers_, local_rank)) {
      if (!has_rank(preparing, local_rank))
        stayed[local_rank] = round_environment(spec_, round_, node_, local_rank);
      continue;
    }
    evidence_.begin_worker(local_rank);
    auto worker = open_output(local_rank);
    if (!worker) {
      cannot_start(local_rank, worker.error());
      continue;
    }
    children.push_back(
        {std::move(commands[local_rank]), {worker->out->worker_end(), worker->err->worker_end()}});
    fresh.push_back(std::move(*worker));
  }
  Spawning spawn = [this](auto unwanted) { return spawner_.spawned(std::move(unwanted)); };
  if (fork_server_) {
    spawn = [this, all = std::move(children)](auto unwanted) {
      return fork_server_->spawn(all, std::move(unwanted));
    };
  } else if (auto processes = spawner_.spawn_soon(std::move(children))) {
    take_on_all(fresh, *processes);
    return stayed;
  }
  start_coroutine(executor_, start_later(std::move(fresh), std::move(spawn)),
                  report_failure("starting workers"));
  return stayed;
}

std::vector<int> WorkerSet::missing() const {
  std::vector<int> found = ranks_from(0, spec_.workers);
  std::erase_if(found, [&](int local_rank) { return is_alive(workers_, local_rank); });
  return found;
}

std::vector<RunningWorker> WorkerSet::running() const {
  std::vector<RunningWorker> running;
  for (const auto& worker : workers_)
    if (!worker->ended())
      running.push_back(
          {rank_of(round_, worker->local_rank), worker->local_rank, worker->process.pid()});
  return running;
}

void WorkerSet::start_none(const StartRound& round, const Error& error) {
  begin_round(round);
  for (const int local_rank : missing()) cannot_start(local_rank, error);
}

void WorkerSet::begin_round(const StartRound& round) {
  ++starts_;
  round_ = round;
  stopping_ = false;
  leftovers_.begin_round();
  // One that prepared may have ended: another one gets its place.
  forget(workers_, [](const auto& worker) { return worker->ended(); });
  const bool some_stay = !living(workers_).empty();
  node_.paths.heartbeats = evidence_.begin_round(round_, spec_.workers, some_stay);
  make_round_folder(files_, node_, round_, spec_.workers);
  make_folded_output();
}

/// A worker that has stayed may have another rank, in what stands before its lines, too.
void WorkerSet::make_folded_output() {
  if (folded_) folded_->close();
  if (spec_.logs.fold)
    folded_ = std::make_shared<FoldedOutput>(
        executor_, consoles_.out, consoles_.err, [this](const FoldedLine& line) {
          return fold_label(spec_, node_, line.ranks, line.local_ranks);
        });
  for (const auto& worker : workers_) {
    if (worker->ended()) continue;
    OutputPlan plan = plan_output(spec_, round_, node_, worker->local_rank);
    const int rank = rank_of(round_, worker->local_rank);
    worker->out->retarget(plan.out.prefix, fold_target(plan.out, {folded_, rank, false}));
    worker->err->retarget(plan.err.prefix, fold_target(plan.err, {folded_, rank, true}));
    announce({worker->local_rank, worker->out, worker->err}, worker->process.pid());
  }
}

Result<WorkerSet::NewWorker> WorkerSet::open_output(int local_rank) const {
  OutputPlan plan = plan_output(spec_, round_, node_, local_rank);
  const int rank = rank_of(round_, local_rank);
  const FoldTarget out_target = fold_target(plan.out, {folded_, rank, false});
  const FoldTarget err_target = fold_target(plan.err, {folded_, rank, true});
  auto out = LogPump::open(executor_, consoles_.out, std::move(plan.out), out_target, files_);
  if (!out) return out.error();
  auto err = LogPump::open(executor_, consoles_.err, std::move(plan.err), err_target, files_);
  if (!err) return err.error();
  return NewWorker{local_rank, std::move(*out), std::move(*err)};
}

/// Before they run, the workers may be asked to stop, or the round may be swept away.
asio::awaitable<void> WorkerSet::start_later(std::vector<NewWorker> fresh, Spawning spawn) {
  const int start = starts_;
  ++forking_;
  auto processes = co_await spawn([this, start] { return stopping_ || start != starts_; });
  --forking_;
  if (start != starts_) co_return;
  take_on_all(fresh, processes);
  reap_orphans();
}

void WorkerSet::take_on_all(const std::vector<NewWorker>& fresh,
                            std::vector<Result<ChildProcess>>& processes) {
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (processes[i])
      take_on(fresh[i], std::move(*processes[i]));
    else
      cannot_start(fresh[i].local_rank, processes[i].error());
  }
  asio::post(executor_, [this, start = starts_] {
    if (start == starts_) started_();
  });
}

/// Tells the folder of lines which ranks to wait for.
void WorkerSet::announce(const NewWorker& worker, pid_t pid) const {
  if (!folded_) return;
  const Speaker speaker{rank_of(round_, worker.local_rank), worker.local_rank, pid};
  if (worker.out->is_shown()) folded_->expect(speaker, false, worker.out->has_file());
  if (worker.err->is_shown()) folded_->expect(speaker, true, worker.err->has_file());
}

void WorkerSet::take_on(const NewWorker& worker, ChildProcess process) {
  announce(worker, process.pid());
  worker.out->start();
  worker.err->start();
  workers_.push_back(std::make_shared<Worker>(
      Worker{worker.local_rank, std::move(process), worker.out, worker.err}));
  start_coroutine(executor_, watch(workers_.back()), report_failure("watching a worker"));
}

/// Posted, because it arises while somebody calls start().
void WorkerSet::cannot_start(int local_rank, const Error& error) {
  const ExitStatus status{.code = error.kind == Error::Kind::kNotFound ? 127 : 126};
  asio::post(executor_, [this, local_rank, status, reason = error.message] {
    WorkerFailure how = evidence_.end_of(local_rank, 0, status);
    how.last_lines = {reason};
    EndClues clues{.started = false, .ended = Clock::now()};
    clues.err.text = reason;
    exited_(evidence_.judge(std::move(how), clues));
  });
}

/// What the worker wrote last is read before anybody hears of its end.
asio::awaitable<void> WorkerSet::watch(std::shared_ptr<Worker> worker) {
  const ExitStatus status = co_await worker->process.wait();
  const TimePoint ended = Clock::now();
  for (const auto& stream : {worker->out, worker->err}) stream->drain();
  for (const auto& stream : {worker->out, worker->err}) co_await stream->written();
  worker->ending = status.ok() ? Ending::kWell : Ending::kFailed;
  if (folded_) folded_->ended(rank_of(round_, worker->local_rank), !status.ok());
  WorkerFailure how = evidence_.end_of(worker->local_rank, worker->process.pid(), status);
  if (!status.ok() && !worker->timer.empty())
    how.evidence = "rank " + std::to_string(how.rank) + "'s " + worker->timer;
  EndClues clues{.ended = ended, .stop_sent = worker->stop_sent_at.has_value()};
  clues.stop_sent_at = worker->stop_sent_at.value_or(ended);
  if (!status.ok()) {
    how.log_file = log_file(plan_output(spec_, round_, node_, worker->local_rank));
    how.last_lines = worker->err->last_lines();
    if (how.last_lines.empty()) how.last_lines = worker->out->last_lines();
  }
  clues.err = worker->err->stream_end();
  clues.out = worker->out->stream_end();
  if (!worker->timer.empty())
    clues.timer = "its " + worker->timer;
  else if (!worker->killed)
    clues.kernel = how.evidence;
  const WorkerExited exit = evidence_.judge(std::move(how), clues);
  if (explains(exit.end) == Explains::kWaits) worker->ending = Ending::kGaveUp;
  exited_(exit);
}

void WorkerSet::signal(int number, bool to_stop) {
  stopping_ = stopping_ || to_stop;
  spawner_.look_again();
  if (fork_server_) fork_server_->look_again();
  for (const auto& worker : workers_) {
    if (!to_stop && !worker->ended()) worker->process.signal_group(number);
    if (!to_stop) continue;
    if (!worker->ended()) note_stop_sent(*worker, number);
    if (tell_to_end(worker->process, number)) leftovers_.note_signaled(worker->process.pid());
  }
}

void WorkerSet::kill(const std::vector<int>& local_ranks) {
  for (const auto& worker : workers_) {
    if (std::ranges::count(local_ranks, worker->local_rank) == 0) continue;
    if (!worker->ended()) note_stop_sent(*worker, SIGKILL);
    worker->ended() ? Leftovers::kill_group(worker->process.pid())
                    : worker->process.signal_group(SIGKILL);
  }
}

void WorkerSet::ask_for_checkpoint(int signal) {
  stopping_ = true;
  spawner_.look_again();
  if (fork_server_) fork_server_->look_again();  // a start that waits for imports is wanted no more
  for (const auto& worker : workers_) {
    if (worker->ended()) continue;
    note_stop_sent(*worker, signal);
    if (ddprun::ask_for_checkpoint(worker->process, signal)) continue;
    log::warn("rank {} has no handler for {}, so it gets SIGTERM, and may end without a checkpoint",
              rank_of(round_, worker->local_rank), signal_name(signal));
    if (tell_to_end(worker->process, SIGTERM)) leftovers_.note_signaled(worker->process.pid());
  }
}

/// The process cannot become another one between the look at it and the signal: what is open stands
/// for this one, and without that a kernel is too old.
void WorkerSet::end_late(const ExpiredTimer& timer) {
  const Descriptor process{open_process(timer.pid)};
  Worker* const worker = worker_above(workers_, timer.pid);
  if (worker != nullptr && !worker->ended()) {
    const int rank = rank_of(round_, worker->local_rank);
    log::warn("rank {}'s {}: process {} {}", rank, describe(timer), timer.pid,
              timer.signal > 0 ? "gets " + signal_name(timer.signal)
                               : "goes on, as its timer names no signal");
    if (timer.signal > 0 && !worker->stop_sent_at) worker->timer = describe(timer);
    if (timer.signal > 0) signal_process(process.number(), timer.pid, timer.signal);
  }
}

std::optional<WorkerOutput> WorkerSet::output_of(int rank, bool err) const {
  const int local_rank = local_rank_of(round_, spec_.workers, rank);
  if (round_.round == 0 || local_rank < 0) return std::nullopt;
  OutputPlan plan = plan_output(spec_, round_, node_, local_rank);
  WorkerOutput output{round_.round, std::move(err ? plan.err.file : plan.out.file), {}};
  if (!output.file.empty()) return output;
  for (const auto& worker : workers_)
    if (worker->local_rank == local_rank)
      output.last_lines = (err ? worker->err : worker->out)->last_lines();
  return output;
}

std::shared_ptr<OutputFeed> WorkerSet::follow(int rank, bool err) const {
  for (const auto& worker : workers_)
    if (rank_of(round_, worker->local_rank) == rank)
      return (err ? worker->err : worker->out)->follow();
  return nullptr;
}

WatchedProcess WorkerSet::process(int local_rank) const {
  for (const auto& worker : workers_)
    if (worker->local_rank == local_rank) return {worker->process.pid(), worker->ending};
  return {};
}

void WorkerSet::resize_terminals() {
  for (const auto& worker : workers_) {
    worker->out->resize();
    worker->err->resize();
  }
}

asio::awaitable<void> WorkerSet::sweep(bool in_place, bool at_once) {
  ++starts_;
  spawner_.look_again();
  const auto stays = [in_place](const std::shared_ptr<Worker>& worker) {
    return in_place && !worker->ended();
  };
  for (const auto& worker : workers_) {
    if (stays(worker)) continue;
    worker->ended() && !at_once ? worker->process.reap() : worker->process.release();
  }
  Leftovers::Spared spared = [this, in_place] {
    std::vector<pid_t> pids = in_place ? living(workers_) : std::vector<pid_t>{};
    for (const pid_t pid : lasting_children()) pids.push_back(pid);
    return pids;
  };
  co_await leftovers_.end(std::move(spared), at_once);
  forget(workers_, [&](const auto& worker) { return !stays(worker); });
  if (folded_ && workers_.empty()) std::exchange(folded_, nullptr)->close();
}

void WorkerSet::reap_orphans() const {
  if (forking_ > 0) return;
  std::vector<pid_t> wanted = lasting_children();
  for (const auto& worker : workers_) wanted.push_back(worker->process.pid());
  ddprun::reap_orphans(wanted);
}

/// Nothing of the fork server may be left when ddprun ends, either.
asio::awaitable<void> WorkerSet::end() {
  if (files_) files_->end();
  if (!fork_server_) co_return;
  fork_server_->end();
  co_await kill_descendants(kSweepTimeout, [this] { return lasting_children(); });
}

/// The children of this process that stay from round to round.
std::vector<pid_t> WorkerSet::lasting_children() const {
  std::vector<pid_t> pids{node_.guardian};
  if (fork_server_) pids.push_back(fork_server_->pid());
  return pids;
}

}  // namespace ddprun
