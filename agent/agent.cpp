#include "agent/agent.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/numbers.hpp"
#include "base/process/process_tree.hpp"
#include "base/system/startup_pages.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;

/// The coordinator waits for 1.5 s, where it does not say otherwise.
constexpr std::chrono::milliseconds kInspectionPatience{1'400};
constexpr std::chrono::milliseconds kInspectionPatienceMax{10'000};

/// The first one is reached where the run has found it.
std::vector<std::string> places_of(const LaunchSpec& spec, const RunFacts& run) {
  std::vector<std::string> places;
  for (const Endpoint& place : spec.meeting.places)
    places.push_back(text_of(places.empty() ? run.coordinator : place));
  return places;
}

AgentRules agent_rules(const LaunchSpec& spec, const NodeFacts& node) {
  const RunFacts& run = node.run;
  const bool alone = run.coordinator_here && spec.terms.has_one_node();
  const bool has_registry = spec.meeting.etcd.has_value();
  return {.workers = spec.workers,
          .terms = spec.terms,
          // Beside several nodes' coordinator this node may hang alone, and be given up by it.
          .rejoin = !alone,
          .preempt_timeout = spec.preemption.timeout,
          .preempt_timeout_after_sigterm = spec.preemption.timeout_after_sigterm,
          .checkpoint_signal = spec.preemption.checkpoint_signal,
          .hears_workers = !node.endpoints.control.empty(),
          .endpoint = text_of(run.coordinator),
          .places = places_of(spec, run),
          .find_successor = has_registry ? FindSuccessor::kInRegistry : FindSuccessor::kAmongNodes,
          .counts_silence = !alone,
          .checks_itself = spec.node.check.has_value()};
}

/// By local rank; -1: nobody is to hear of a worker without a seat in the round.
std::vector<int> watched_ranks(const StartRound& round, int workers) {
  std::vector<int> ranks(static_cast<std::size_t>(workers));
  for (int local_rank = 0; local_rank < workers; ++local_rank)
    ranks[local_rank] = rank_of(round, local_rank);
  for (const int local_rank : seats_in(round.vacant, workers)) ranks[local_rank] = -1;
  return ranks;
}

/// Then none of them was cut off while it saved, also where it was asked to end.
bool have_all_ended_well(const RoundOutcome& outcome, int workers) {
  return static_cast<int>(outcome.ends.size()) == workers &&
         std::ranges::all_of(outcome.ends, [](const WorkerEnd& end) { return end.status.ok(); });
}

void write(const NewsLine& line) {
  log::write(line.level == NewsLine::Level::kWarning ? log::Level::kWarning : log::Level::kInfo,
             line.text);
}

void log_signal(const AgentEvent& meaning, int signal) {
  if (std::holds_alternative<StopSignal>(meaning))
    log::warn("{} received: stopping the workers of this node", signal_name(signal));
  else if (std::holds_alternative<EndAnnounced>(meaning))
    log::info("{} received: the scheduler announces the end", signal_name(signal));
  else if (signal != SIGWINCH)
    log::info("{} received: handed on to the workers", signal_name(signal));
}

}  // namespace

Agent::Agent(const asio::any_io_executor& executor, LaunchSpec spec, NodeFacts node,
             AgentServices services)
    : executor_{executor},
      spec_{std::move(spec)},
      run_{node.run},
      services_{std::move(services)},
      machine_{agent_rules(spec_, node)},
      news_{spec_, run_},
      link_{executor, spec_, run_, services_.coordinator,
            [this](const AgentEvent& event) {
              if (const auto* order = std::get_if<Ordered>(&event)) hear(order->message);
              if (std::holds_alternative<CoordinatorLost>(event)) queries_.lose_coordinator();
              step(event);
            }},
      record_{executor},
      queries_{executor, [this](const AgentMessage& question) { link_.send(question); }},
      workers_{executor, spec_, std::move(node), services_.consoles,
               [this](const WorkerExited& worker) {
                 introspection_.look_again();
                 if (services_.checkpoints && !worker.end.status.ok())
                   services_.checkpoints->workers_end();
                 step(worker);
               }},
      introspection_{
          executor,
          std::move(services_.folder),
          look_intervals(spec_.terms.hang_timeout),
          {[this](int local_rank) { return workers_.process(local_rank); },
           [this](int local_rank, WorkerLook& look) {
             workers_.add_reported(local_rank, look);
             services_.trainings.add_reported(local_rank, look);
           },
           [this](const RankProgress& p) { step(WorkerProgressed{p}); },
           [this](Arrivals a) { step(WorkerArrived{std::move(a)}); },
           [this](std::vector<DebuggedRank> ranks) { step(DebuggersChanged{std::move(ranks)}); }}},
      signals_{executor, spec_},
      alarm_{executor, TimePoint::max()},
      leads_{run_.coordinator_here} {
  workers_.when_started([this] {
    services_.events.note_started(workers_.running());
    step(WorkersRun{});
    record_.workers_run();
  });
  if (services_.checkpoints)
    services_.checkpoints->speak_with([this](const CheckpointSaid& word) { link_.send(word); });
  services_.timers.listen([this](const ExpiredTimer& timer) { workers_.end_late(timer); });
  // The coordinator's order may come this much later than a loss: it waits for a failure's cause,
  // or for a silent node.
  services_.staying.begin(kCausePatience + spec_.terms.heartbeat_timeout, [this](WorkerSaid word) {
    WorkerLook look;
    workers_.add_reported(word.local_rank, look);
    word.step = look.step.value_or(-1);
    step(word);
  });
}

asio::awaitable<AgentEnd> Agent::run() {
  if (const auto adopts = adopt_orphans(); !adopts)
    log::warn("{}: processes that leave the session of their worker outlive the job",
              adopts.error().message);
  workers_.warm_up();
  signals_.begin([this](int signal) { hear_signal(signal); }, [this] { workers_.reap_orphans(); });
  step(AgentBegins{});
  while (!end_) {
    co_await alarm_.async_wait(as_tuple(use_awaitable));
    if (!end_ && Clock::now() >= alarm_.expiry()) step(Alarm{});
  }
  const bool goes_on = end_->why == AgentEnd::Why::kStopSignal;
  if (services_.checkpoints) co_await services_.checkpoints->end(goes_on);
  signals_.end();
  check_ends_.emit(asio::cancellation_type::terminal);
  services_.staying.close();
  link_.end();
  queries_.lose_coordinator();
  co_await workers_.end();
  co_return *end_;
}

void Agent::hear_signal(int signal) {
  if (end_) return give_up_writing(signal);
  const AgentEvent meaning = meaning_of(signal, spec_);
  log_signal(meaning, signal);
  if (signal == SIGWINCH) workers_.resize_terminals();
  step(meaning);
}

/// The user waits for nothing but checkpoints.
void Agent::give_up_writing(int signal) {
  if (!services_.checkpoints || signal == SIGWINCH) return;
  log::warn("{} received: checkpoints are not written to disk any more", signal_name(signal));
  services_.checkpoints->give_up_writing();
}

void Agent::stop(int signal) {
  if (!end_) step(StopSignal{signal});
}

void Agent::hear(const CoordinatorMessage& message) {
  if (std::holds_alternative<Joined>(message)) {
    note_leading();
    tell_held();
    if (services_.checkpoints) services_.checkpoints->joined();
  }
  const auto* const order = std::get_if<CheckpointOrder>(&message);
  if (order != nullptr && services_.checkpoints) {
    CheckpointOrder here = *order;
    for (PartSource& source : here.copies) source.endpoint = link_.as_seen_here(source.endpoint);
    services_.checkpoints->obey(here);
  }
  tell_user(message);
  record_.hear(message);
  queries_.hear(message);
}

/// The coordinator may have been lost, and this node's own may follow it.
void Agent::note_leading() {
  if (link_.own_port() == 0 || std::exchange(leads_, link_.colocated()) == link_.colocated())
    return;
  news_.leads(leads_);
  services_.coordinator.lead(leads_);
}

void Agent::step(const AgentEvent& event) {
  services_.events.note(event);
  for (const AgentAction& action : machine_.step(event, Clock::now())) {
    services_.events.note(action);
    perform(action);
  }
  const TimePoint due = machine_.next_alarm().value_or(TimePoint::max());
  if (due != alarm_.expiry()) alarm_.expires_at(due);
}

void Agent::perform(const AgentAction& action) {
  match(
      action,  //
      [&](const ReachCoordinator& a) { link_.connect(a); },
      [&](const StartWorkers& a) {
        if (!services_.checkpoints || a.parked) return start_workers(a);
        awaits_start_ = a.round;
        start_coroutine(executor_, put_back_and_start(a), report_failure("starting workers"));
      },
      [&](const AskToHold& a) { services_.staying.tell_all(order_line(a)); },
      [&](const AskToLeaveAfter& a) { services_.staying.tell_all(order_line(a)); },
      [&](const AskToLeave& a) { services_.staying.tell_all(order_line(a)); },
      [&](const KillWorkers& a) { workers_.kill(a.local_ranks); },
      [&](const SignalWorkers& a) {
        if (services_.checkpoints && a.to_stop) services_.checkpoints->workers_end();
        if (a.to_stop) give_up_start();
        workers_.signal(a.signal, a.to_stop);
      },
      [&](const AskForCheckpoint& a) {
        give_up_start();
        workers_.ask_for_checkpoint(a.signal);
      },
      [&](const SweepTree& a) {
        start_coroutine(executor_, sweep(a), report_failure("cleaning up after workers"));
      },
      [&](const KillLeftovers&) { workers_.kill_leftovers(); },
      [&](const InspectWorkers& a) {
        start_coroutine(executor_, inspect(a.question), report_failure("looking at the workers"));
      },
      [&](const ExtendTimeouts& a) { introspection_.set_group_timeouts(a.extended); },
      [&](const CheckSelf& a) {
        co_spawn(executor_, check_node(a),
                 asio::bind_cancellation_slot(check_ends_.slot(),
                                              report_failure("looking at this node")));
      },
      [&](const Tell& a) { tell(a.message); },  //
      [&](const Disconnect&) {
        link_.disconnect();
        queries_.lose_coordinator();
      },
      [&](const TellStandby& a) { services_.coordinator.led_by(a.leader); },
      [&](const Warn& a) { log::warn("{}", a.text); },
      [&](const Exit& a) {
        end_ = a.end;
        alarm_.cancel();
      });
}

/// What is known of workers before those that are started now is forgotten.
void Agent::watch(const StartRound& round) {
  const std::vector<int> fresh = workers_.missing();
  services_.staying.forget(fresh);
  if (static_cast<int>(fresh.size()) < spec_.workers)
    return introspection_.go_on_in_round(round.round, watched_ranks(round, spec_.workers), fresh);
  services_.trainings.forget();
  services_.timers.forget();
  introspection_.begin_round(round.round, watched_ranks(round, spec_.workers));
}

/// Workers find the checkpoint that they continue from.
asio::awaitable<void> Agent::put_back_and_start(StartWorkers order) {
  const std::weak_ptr<bool> agent = is_there_;
  const StartRound& round = order.round;
  CheckpointKeeper::Round place{round.group_rank, round.group_world_size, round.checkpoint};
  for (PartSource& source : place.checkpoint.sources)
    source.endpoint = link_.as_seen_here(source.endpoint);
  const Result<void> ready = co_await services_.checkpoints->begin_round(place);
  if (agent.expired() || end_ || awaits_start_ != round) co_return;
  awaits_start_.reset();
  tell_held();
  start_workers(order, ready);
}

/// They are to stop before they were started.
void Agent::give_up_start() {
  if (const auto round = std::exchange(awaits_start_, std::nullopt))
    workers_.start_none(*round,
                        {Error::Kind::kUnavailable, "it was stopped before it was started"});
}

void Agent::start_workers(const StartWorkers& order, const Result<void>& may_start) {
  const StartRound& round = order.round;
  order.parked ? write(news_.of_parked(round)) : record_.begin_round(round);
  watch(round);
  Result<StartRound> ready = order.parked ? round : link_.open_store(round);
  if (!may_start) ready = may_start.error();
  if (!ready) workers_.start_none(round, ready.error());
  if (ready)
    for (const auto& [local_rank, environment] : workers_.start(*ready, order.parked))
      services_.staying.enter(local_rank, round.round, environment);
  if (!std::exchange(is_started_, true)) give_back_startup_pages();
}

asio::awaitable<void> Agent::inspect(Inspect question) {
  auto first = parse_number_list(question.first, std::numeric_limits<int>::max() - 1);
  auto ranks = first ? std::move(*first) : std::vector<int>{};
  const std::chrono::milliseconds told{question.patience_ms};
  const auto patience =
      told.count() == 0 ? kInspectionPatience : std::min(told, kInspectionPatienceMax);
  const Depth depth = question.sample     ? Depth::kSample
                      : question.stopping ? Depth::kDisturb
                                          : Depth::kLook;
  auto groups = co_await introspection_.inspect(std::move(ranks), depth, patience);
  step(WorkersInspected{question.inspection, std::move(groups)});
}

asio::awaitable<void> Agent::check_node(CheckSelf order) {
  const std::weak_ptr<bool> agent = is_there_;
  const bool workers_live = static_cast<int>(workers_.missing().size()) < spec_.workers;
  Result<std::string> unfit = Error{Error::Kind::kUnavailable, ""};
  try {
    unfit = co_await services_.check(order.patience, workers_live);
  } catch (const std::exception& failure) {  // no process can be started, or the agent has ended
    unfit = Error{Error::Kind::kUnavailable, failure.what()};
  }
  if (agent.expired() || end_) co_return;
  step(unfit ? Checked{order.check, std::move(*unfit)}
             : Checked{order.check, "", unfit.error().message});
}

asio::awaitable<void> Agent::sweep(SweepTree order) {
  introspection_.look_again();
  if (!order.in_place) introspection_.end_round();
  co_await workers_.sweep(order.in_place, order.at_once);
  link_.close_store();
  if (services_.checkpoints && !order.in_place)
    co_await services_.checkpoints->end_round(
        have_all_ended_well(machine_.outcome(), spec_.workers));
  step(TreeGone{});
}

/// A beat tells how busy the machine is, and what is kept, too. Only people who look at the job
/// want to know that.
void Agent::tell(AgentMessage message) {
  if (auto* const beat = std::get_if<Beat>(&message)) {
    beat->load = load_.look(Clock::now());
    if (services_.checkpoints) beat->checkpoints = services_.checkpoints->status();
    if (beat->checkpoints) beat->checkpoints->put_back = record_.job().put_back;
  }
  if (std::holds_alternative<WorkersStopped>(message)) tell_held();
  link_.send(message);
}

/// The coordinator chooses the checkpoint that all nodes continue from.
void Agent::tell_held() {
  if (!services_.checkpoints) return;
  if (const auto held = services_.checkpoints->held()) link_.send(*held);
}

void Agent::tell_user(const CoordinatorMessage& message) {
  for (const NewsLine& line : news_.of(message, Clock::now())) write(line);
}

}  // namespace ddprun
