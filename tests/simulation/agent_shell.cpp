#include "tests/simulation/agent_shell.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "agent/decisions/self_check.hpp"
#include "base/match.hpp"
#include "rendezvous/etcd/election_words.hpp"
#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "tests/simulation/coordinator_shell.hpp"
#include "tests/simulation/node.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

AgentRules rules_of(World& world, int host, const OwnProcess* process) {
  AgentRules rules = world.plan.group;
  rules.workers = world.random.number(1, rules.workers);
  rules.terms.join_timeout = world.plan.rounds.terms.join_timeout;
  rules.endpoint = world.plan.rounds.endpoint;
  if (process != nullptr && process->can_seek()) {
    rules.find_successor = FindSuccessor::kInRegistry;
    rules.endpoint = endpoint_of(host);
  }
  return rules;
}

}  // namespace

AgentShell::AgentShell(World& world, Watcher& watcher, int number, int host, int serial,
                       OwnProcess* process)
    : world_{world},
      watcher_{watcher},
      process_{process},
      number_{number},
      host_{host},
      rules_{rules_of(world, host, process)},
      machine_{rules_},
      id_{"n" + std::to_string(host) + "." + std::to_string(number) +
          (serial > 0 ? "." + std::to_string(serial) : "")} {
  if (is_served(world.plan)) listens_ = world.random.chance(90);
  if (world.plan.warm) fork_server_ = std::make_unique<ForkServerShell>(world, *this);
}

void AgentShell::start() {
  if (fork_server_) fork_server_->begin();
  step(AgentBegins{});
}

void AgentShell::connect(const ReachCoordinator& wish) {
  if (connecting_) watcher_.broke("one search at a time: " + id_ + " begins another one");
  wish_ = wish;
  const bool can_seek = process_ != nullptr && process_->can_seek();
  const bool asks = wish.at.empty() && can_seek;
  const std::string at = wish.at.empty() ? rules_.endpoint : wish.at;
  place_ = at.empty() ? 0 : number_at(at);
  found_ = can_seek ? at : "";
  connecting_.emplace(wish.patience, world_.time.now());
  connecting_since_ = last_not_refused_ = world_.time.now();
  seeking_until_.reset();
  if (asks) seeking_until_ = world_.time.now() + wish.pause + wish.patience.any;
  lost_ = wish.voter.epoch;
  world_.time.after(wish.pause + world_.random.time(1ms, 20ms),
                    [this, asks] { asks ? seek() : try_connect(); });
}

void AgentShell::seek() {
  if (frozen_) return when_awake([this] { seek(); });
  if (gone()) return;
  process_->seek(seek_of(wish_.voter, lost_), *seeking_until_,
                 [this](const std::optional<Campaign::Found>& found) { sought(found); });
}

/// As CoordinatorLink does: whom etcd names may be gone already, and another one named soon.
void AgentShell::sought(const std::optional<Campaign::Found>& found) {
  if (frozen_) return when_awake([this, found] { sought(found); });
  if (gone()) return;
  if (!found) return give_up_connecting(false);
  place_ = number_at(found->endpoint);
  found_ = found->endpoint;
  lost_ = found->epoch;
  const TimePoint now = world_.time.now();
  const auto left = std::chrono::ceil<milliseconds>(*seeking_until_ - now);
  connecting_.emplace(
      Patience{std::clamp(left, 1ms, milliseconds{kAnswerTimeoutMin}), 0ms, wish_.patience.answer},
      now);
  try_connect();
}

void AgentShell::try_connect() {
  if (frozen_) return when_awake([this] { try_connect(); });
  if (gone()) return;
  if (!world_.network.can_connect(host_, world_.network.host_of(place_)))
    return attempt_failed(FailedAttempt::Why::kNoAnswer);
  if (world_.network.refuses(place_)) return attempt_failed(FailedAttempt::Why::kRefused);
  join();
}

void AgentShell::attempt_failed(FailedAttempt::Why why) {
  if (why != FailedAttempt::Why::kRefused) {
    refused_since_.reset();
    last_not_refused_ = world_.time.now();
  } else if (!refused_since_) {
    refused_since_ = world_.time.now();
  }
  if (const auto pause = connecting_->pause_after(why, world_.time.now()))
    return world_.time.after(*pause, [this] { try_connect(); });
  if (seeking_until_ && world_.time.now() < *seeking_until_) return seek();
  give_up_connecting(why == FailedAttempt::Why::kRefused && !seeking_until_);
}

void AgentShell::give_up_connecting(bool refused) {
  watcher_.gives_up_connecting(*this);
  connecting_.reset();
  connecting_since_.reset();
  refused_since_.reset();
  step(CoordinatorUnreachable{"no answer", refused});
}

void AgentShell::join() {
  receiving_ = true;
  refused_since_.reset();  // somebody listens again
  link_ = world_.network.connect(host_, number_, place_);
  connected_to_ = world_.coordinators;
  last_heard_ = world_.time.now();
  asked_ = world_.time.now();
  watcher_.joins(*this);
  Join join{.node = id_,
            .incarnation = ++joins_,
            .counters = wish_.counters,
            .host = "host" + std::to_string(host_),
            .workers = rules_.workers,
            .node_rank = world_.plan.ranks_wanted ? host_ : -1,
            .terms = world_.plan.rounds.terms};
  const Standby standby = standby_of(world_.plan.rounds.leadership, false);
  if (standby != Standby::kNotAtAll) join.voter = wish_.voter;
  join.parked = wish_.parked;
  join.check_ms = rules_.checks_itself ? kCheckTimeMax.count() : 0;
  join.unfit = wish_.unfit;
  if (standby == Standby::kShowsLife) join.voter.standby_port = listens_ ? number_ + 1 : 0;
  if (standby == Standby::kMaySucceed) {
    join.voter.standby_port = number_;
    join.voter.colocated = place_ == number_;
  }
  world_.network.send(link_, Side::kAgent, AgentMessage{join});
  const LinkId asked = link_;
  world_.time.at(connecting_->answered_by(world_.time.now()),
                 [this, asked] { answer_is_due(asked); });
}

void AgentShell::answer_is_due(LinkId link) {
  if (frozen_) return when_awake([this, link] { answer_is_due(link); });
  if (gone() || link != link_ || !receiving_ || !connecting_) return;
  disconnect();
  attempt_failed(FailedAttempt::Why::kSilent);
}

/// The coordinator has answered.
void AgentShell::reached() {
  connecting_.reset();
  connecting_since_.reset();
  refused_since_.reset();
  ever_joined_ = true;
  step(Connected{asked_, found_});
}

void AgentShell::receive(LinkId link, const Parcel& parcel) {
  if (frozen_) return held_.push_back([this, link, parcel] { receive(link, parcel); });
  if (gone() || link != link_ || !receiving_) return;
  if (std::holds_alternative<HangUp>(parcel)) return hung_up();
  const auto& message = std::get<CoordinatorMessage>(parcel);
  last_heard_ = world_.time.now();
  note(message);
  if (connecting_) reached();
  step(Ordered{message});
}

void AgentShell::note(const CoordinatorMessage& message) {
  const auto hear = [&](int round, int attempt) {
    told_ = {std::max(told_.round, round), std::max(told_.attempt, attempt)};
  };
  match(
      message,  //
      [&](const StartRound& m) { hear(m.round, m.attempt); },
      [&](const StopRound& m) { hear(m.round, m.attempt); },
      [&](const Spare& m) { hear(m.round, m.attempt); },
      [&](const Prepare& m) { hear(m.waits.round, m.waits.attempt); }, [](const auto&) {});
}

void AgentShell::hung_up() {
  disconnect();
  if (connecting_) return attempt_failed(FailedAttempt::Why::kHungUp);
  step(CoordinatorLost{"connection closed"});
}

void AgentShell::disconnect() {
  receiving_ = false;
  world_.network.close(link_, Side::kAgent);
}

void AgentShell::step(const AgentEvent& event) {
  for (const AgentAction& action : machine_.step(event, world_.time.now())) perform(action);
  arm();
}

void AgentShell::perform(const AgentAction& action) {
  match(
      action,  //
      [&](const ReachCoordinator& a) { connect(a); },
      [&](const StartWorkers& a) { a.parked ? start_parked() : start_workers(a.round); },
      [&](const AskToHold& a) { ask_to_hold(a.round); },
      [&](const AskToLeaveAfter& a) { ask_to_leave_after(a.order); },
      [&](const AskToLeave& a) { ask_to_leave(a.round); },
      [&](const KillWorkers& a) { kill_workers(a.local_ranks); },
      [&](const SignalWorkers& a) { signal_workers(a.signal); },
      [&](const AskForCheckpoint&) { ask_for_checkpoint(); },
      [](const InspectWorkers&) {},  // the report of a hang comes all the same
      [&](const ExtendTimeouts& a) { give_time(a.extended); },
      [&](const SweepTree& a) {
        ++starts_;
        if (std::exchange(sweeping_, true))
          watcher_.broke("one sweep at a time: " + id_ + " begins another one");
        for (auto& [serial, worker] : alive_)
          if (worker.watched && (!a.in_place || !is_spared(worker))) report_exit(worker);
        const bool leaves_some = !a.at_once && world_.random.chance(10);
        leftovers_end_ =
            world_.time.now() + world_.random.time(0ms, leaves_some ? 60'000ms : 100ms);
        begin_sweep(a.in_place);
      },
      [&](const KillLeftovers&) {
        leftovers_end_ =
            std::min(leftovers_end_, world_.time.now() + world_.random.time(0ms, 100ms));
        begin_sweep(sweep_keeps_);
      },
      [&](const CheckSelf& a) { look_at_node(a); },
      [&](const Tell& a) { world_.network.send(link_, Side::kAgent, a.message); },
      [&](const Disconnect&) {
        watcher_.gives_up_coordinator(*this);
        disconnect();
      },
      [&](const TellStandby& a) {
        if (process_ != nullptr) process_->led_by(a.leader);
      },  //
      [](const Warn&) {},
      [&](const Exit& a) {
        end_ = a.end;
        end_fork_server();
        watcher_.exits(*this);
        if (receiving_) world_.network.close(link_, Side::kAgent);
        if (process_ != nullptr) process_->agent_ended();
      });
}

/// A node may be sick for a while, and a driver or a disk may take its time.
void AgentShell::look_at_node(const CheckSelf& order) {
  const bool is_sick = world_.random.chance(25);
  const bool is_slow = world_.random.chance(20);
  const auto time = world_.random.time(0ms, is_slow ? order.patience + kCheckAnswer : 300ms);
  world_.time.after(time, [this, check = order.check, is_sick] {
    when_awake([this, check, is_sick] {
      if (!gone()) step(Checked{check, is_sick ? "is sick" : ""});
    });
  });
}

/// When the alarm is due.
void AgentShell::ring() {
  if (gone() || frozen_) return;
  const auto due = machine_.next_alarm();
  if (due && world_.time.now() >= *due) {
    for (const AgentAction& action : machine_.step(Alarm{}, world_.time.now())) perform(action);
    watcher_.rang("agent", machine_.next_alarm());
  }
  arm();
}

void AgentShell::arm() {
  timer_.set(machine_.next_alarm(), [this] { ring(); });
}

}  // namespace ddprun::simulation
