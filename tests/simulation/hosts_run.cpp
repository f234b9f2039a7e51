#include "tests/simulation/hosts_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/match.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

constexpr char kVersion[] = "1.0";

HostsRules draw_rules(Random& random) {
  const bool many = random.chance(2);
  const int hosts = many ? random.number(kConnectingMax, kConnectingMax + 8) : random.number(1, 6);
  HostsRules rules{.nodes_min = random.chance(50) ? hosts : random.number(1, hosts),
                   .has_successors = hosts >= 3 && random.chance(50),
                   .ssh = {{"ssh"}, "/opt/ddprun"},
                   .version = kVersion,
                   .shutdown_timeout = random.time(0ms, 40s)};
  for (int i = 0; i < hosts; ++i) rules.hosts.push_back({fmt::format("h{}", i), {}});
  return rules;
}

HostKind draw_kind(Random& random, int trouble_percent) {
  if (!random.chance(trouble_percent)) return HostKind::kFine;
  return static_cast<HostKind>(random.number(1, kHostKinds - 1));
}

std::string text_of(const HostsEvent& event) {
  return match(
      event,  //
      [](const Begin&) -> std::string { return "it begins"; },
      [](const HostSaid& e) {
        return fmt::format(
            "h{} says {}", e.host,
            std::holds_alternative<HostOutput>(e.message) ? "a line" : encode(e.message));
      },
      [](const HostGone& e) { return fmt::format("h{} is gone", e.host); },
      [](const HostBabbles& e) { return fmt::format("h{} babbles", e.host); },
      [](const Interrupt& e) { return fmt::format("the user sends signal {}", e.signal); },
      [](const HostsAlarm&) -> std::string { return "the alarm rings"; });
}

std::string text_of(const HostsAction& action) {
  return match(
      action,  //
      [](const Connect& a) { return fmt::format("connect to h{}", a.host); },
      [](const StartAgent& a) {
        return fmt::format("start h{}{}", a.host, a.leads ? " to lead" : "");
      },
      [](const PassSignal& a) { return fmt::format("signal {} to h{}", a.signal, a.host); },
      [](const KillSsh& a) { return fmt::format("kill the ssh of h{}", a.host); },
      [](const Complain& a) { return a.text; },
      [](const Finish& a) { return fmt::format("end with code {}", a.code); });
}

}  // namespace

HostsRun::Outcome HostsRun::run(std::uint64_t seed, std::size_t trace_lines_max) {
  return HostsRun{seed, trace_lines_max}.carry_out();
}

HostsRun::HostsRun(std::uint64_t seed, std::size_t trace_lines_max)
    : random_{seed},
      rules_{draw_rules(random_)},
      machine_{rules_},
      invariants_{rules_},
      hosts_(rules_.hosts.size()),
      trace_lines_max_{trace_lines_max} {
  const int trouble_percent = random_.number(0, 70);
  for (SimulatedHost& host : hosts_) {
    host.kind = draw_kind(random_, trouble_percent);
    if (host.kind != HostKind::kFine) ++outcome_.faults;
  }
  job_takes_ = random_.time(0s, 5min);
}

HostsRun::Outcome HostsRun::carry_out() {
  plan_interrupts();
  step(Begin{});
  while (!finished_ && !invariants_.broken() && time_.run_next()) continue;
  invariants_.check_end();
  outcome_.broken = invariants_.broken();
  outcome_.simulated = std::chrono::duration_cast<milliseconds>(time_.now().time_since_epoch());
  return std::move(outcome_);
}

void HostsRun::plan_interrupts() {
  if (random_.chance(50)) return;
  milliseconds at = random_.time(0s, 3min);
  for (int i = random_.number(1, 5); i > 0; --i) {
    const int stops[] = {SIGINT, SIGTERM};
    const bool to_stop = random_.chance(80);
    const Interrupt interrupt{to_stop ? stops[random_.number(0, 1)] : SIGUSR1, to_stop};
    time_.after(at, [this, interrupt] {
      ++outcome_.interrupts;
      step(interrupt);
    });
    at += random_.chance(50) ? random_.time(0s, 1s) : random_.time(0s, 1min);
  }
}

void HostsRun::step(const HostsEvent& event) {
  if (finished_) return;
  note([&] { return text_of(event); });
  const std::vector<HostsAction> actions = machine_.step(event, time_.now());
  for (const HostsAction& action : actions) note([&] { return "    " + text_of(action); });
  invariants_.stepped(event, actions, time_.now(), machine_.next_alarm());
  for (const HostsAction& action : actions) perform(action);
  set_alarm();
}

void HostsRun::perform(const HostsAction& action) {
  match(
      action,  //
      [&](const Connect& a) { connect(a.host); }, [&](const StartAgent& a) { start(a); },
      [&](const PassSignal& a) { stop(a.host, a.signal); },
      [&](const KillSsh& a) { end_ssh(a.host, random_.time(0ms, 100ms), kSshFailed); },
      [&](const Complain&) {}, [&](const Finish&) { finished_ = true; });
}

void HostsRun::set_alarm() {
  const auto due = machine_.next_alarm();
  if (due == alarm_) return;
  alarm_ = due;
  if (!due) return;
  time_.at(*due, [this, due = *due] {
    if (alarm_ != due) return;  // it was set again
    alarm_.reset();
    step(HostsAlarm{});
  });
}

void HostsRun::connect(int host) {
  hosts_[host].ssh_runs = true;
  milliseconds answers = random_.chance(80) ? a_while() : random_.time(0s, 50s);
  std::string version = kVersion;
  switch (hosts_[host].kind) {
    case HostKind::kUnreachable:
      return end_ssh(host, a_while(), kSshFailed);
    case HostKind::kSilent:
      return;
    case HostKind::kLate:
      answers = random_.time(50s, 70s);
      break;
    case HostKind::kOtherVersion:
      version = "0.9";
      break;
    case HostKind::kBabbler:
      time_.after(random_.time(0s, 2min), [this, host] {
        if (!hosts_[host].ssh_runs) return;
        hosts_[host].babbled = true;
        step(HostBabbles{host, "?"});
      });
      break;
    case HostKind::kCutOff:
      end_ssh(host, random_.time(0s, 2min), kSshFailed);
      break;
    default:
      break;
  }
  say(host, answers, HostHello{kHostProtocol, version});
}

void HostsRun::start(const StartAgent& order) {
  SimulatedHost& host = hosts_[order.host];
  host.started = true;
  host.leads = order.leads;
  chatter(order.host, random_.number(0, 4));
  if (host.kind == HostKind::kCannotBegin)
    return end_agent(order.host, a_while(), {random_.number(1, 127), false, false});
  if (host.kind == HostKind::kEndsByItself)
    end_agent(order.host, random_.time(0s, 2min), {random_.number(0, 143), true, false});
  if (order.leads)
    lead(order.host);
  else
    follow(order.host);
}

void HostsRun::lead(int host) {
  if (hosts_[host].kind == HostKind::kNeverListens) return;
  const milliseconds listens = random_.chance(90) ? a_while() : random_.time(0s, 59s);
  say(host, listens, HostListening{"10.0.0.1", static_cast<std::uint16_t>(4'000 + host)});
  time_.after(listens, [this, host] { hosts_[host].listened = true; });
  time_.after(listens + job_takes_, [this, host] { end_job_at(host); });
}

void HostsRun::end_job_at(int host) {
  if (hosts_[host].leads && hosts_[host].ssh_runs) end_job();
}

/// The agents elect another one, or there are too few of them, and they all end. So do those that
/// are deaf, though the job is over.
void HostsRun::lose_leader(int host) {
  SimulatedHost& leader = hosts_[host];
  if (!rules_.has_successors || !leader.listened || !std::exchange(leader.leads, false)) return;
  time_.after(a_while(), [this] {
    const auto runs = [](const SimulatedHost& h) {
      return h.started && h.ssh_runs && !h.ending && h.kind != HostKind::kNeverListens;
    };
    const auto next = std::ranges::find_if(hosts_, runs);
    if (!verdict_ && next != hosts_.end() && random_.chance(80))
      return succeed(static_cast<int>(next - hosts_.begin()));
    for (int i = 0; i < static_cast<int>(hosts_.size()); ++i)
      if (hosts_[i].started) end_agent(i, random_.time(0s, 5s), {75, true, false});
  });
}

void HostsRun::succeed(int host) {
  hosts_[host].leads = hosts_[host].listened = true;
  say(host, milliseconds{0}, HostListening{"10.0.0.2", static_cast<std::uint16_t>(5'000 + host)});
  time_.after(random_.time(0s, 1min), [this, host] { end_job_at(host); });
}

/// A host that comes when the job is over is refused.
void HostsRun::follow(int host) {
  if (hosts_[host].kind == HostKind::kRepeatsItself && !rules_.has_successors)
    say(host, a_while(), HostListening{"evil", 1});
  if (verdict_) end_agent(host, a_while(), {69, true, false});
}

/// The coordinator tells all agents how the job has ended; those that are deaf have workers that do
/// not stop.
void HostsRun::end_job() {
  if (verdict_) return;
  verdict_ = random_.chance(50) ? 0 : random_.number(1, 139);
  for (int i = 0; i < static_cast<int>(hosts_.size()); ++i)
    if (hosts_[i].started && (hosts_[i].leads || hosts_[i].kind != HostKind::kDeaf))
      end_agent(i, random_.time(0ms, rules_.shutdown_timeout), {*verdict_, true, true});
}

void HostsRun::stop(int host, int signal) {
  if (signal == SIGUSR1 || hosts_[host].kind == HostKind::kDeaf) return;
  end_agent(host, random_.time(0ms, rules_.shutdown_timeout), {128 + signal, true, false});
}

void HostsRun::end_agent(int host, milliseconds delay, HostEnded end) {
  if (std::exchange(hosts_[host].ending, true)) return;
  say(host, delay, end);
  if (!end.verdict) time_.after(delay, [this, host] { lose_leader(host); });
  if (hosts_[host].kind != HostKind::kLingers) end_ssh(host, delay + a_while(), end.code);
}

void HostsRun::end_ssh(int host, milliseconds delay, int code) {
  time_.after(delay, [this, host, code] {
    if (!std::exchange(hosts_[host].ssh_runs, false)) return;
    step(HostGone{host, {.code = code}, {}});
    lose_leader(host);
  });
}

void HostsRun::say(int host, milliseconds delay, FromHost message) {
  const int times = hosts_[host].kind == HostKind::kRepeatsItself ? 2 : 1;
  for (int i = 0; i < times; ++i)
    time_.after(delay, [this, host, message] {
      if (hosts_[host].ssh_runs && !hosts_[host].babbled) step(HostSaid{host, message});
    });
}

void HostsRun::chatter(int host, int lines) {
  for (int i = 0; i < lines; ++i) say(host, random_.time(0s, 6min), HostOutput{});
}

template <typename Line>
void HostsRun::note(Line line) {
  if (trace_lines_max_ == 0) return;
  const auto ms = std::chrono::duration_cast<milliseconds>(time_.now().time_since_epoch()).count();
  outcome_.trace.push_back(fmt::format("{}.{:03}  {}", ms / 1000, ms % 1000, line()));
  if (outcome_.trace.size() > trace_lines_max_) outcome_.trace.pop_front();
}

}  // namespace ddprun::simulation
