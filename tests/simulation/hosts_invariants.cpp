#include "tests/simulation/hosts_invariants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/match.hpp"

namespace ddprun::simulation {

HostsInvariants::HostsInvariants(const HostsRules& rules)
    : rules_{rules}, hosts_(rules.hosts.size()) {}

void HostsInvariants::stepped(const HostsEvent& event, const std::vector<HostsAction>& actions,
                              TimePoint now, std::optional<TimePoint> next_alarm) {
  require(!code_ || actions.empty(), [] { return "the machine goes on after its end"; });
  heard(event, now);
  judge_lost_leader(now);
  const bool signals = std::ranges::any_of(actions, [](const HostsAction& action) {
    return std::holds_alternative<PassSignal>(action);
  });
  const auto* interrupt = std::get_if<Interrupt>(&event);
  if (signals && interrupt == nullptr) given_up_ = true;
  for (const HostsAction& action : actions) did(action, now);
  judge_lost_leader(now);
  if (signals && !over_since_ && (interrupt == nullptr || interrupt->to_stop)) over_since_ = now;
  if (signals || interrupt != nullptr) check_signals(actions);
  check_idle_hosts();
  if (std::holds_alternative<HostsAlarm>(event))
    require(!next_alarm || *next_alarm > now, [] { return "an alarm is due again at once"; });
}

void HostsInvariants::heard(const HostsEvent& event, TimePoint now) {
  if (const auto* interrupt = std::get_if<Interrupt>(&event); interrupt && interrupt->to_stop) {
    const bool leader_runs = leader_ >= 0 && runs(hosts_[leader_]) && !hosts_[leader_].lost;
    if (interrupts_++ == 0 && leader_runs && !given_up_ && !over_since_)
      deciding_signal_ = interrupt->signal;
    if (!over_since_) over_since_ = now;
  } else if (const auto* gone = std::get_if<HostGone>(&event)) {
    Seen& host = hosts_[gone->host];
    host.gone = true;
    if (!host.ended) host.lost = true;
  } else if (const auto* babbles = std::get_if<HostBabbles>(&event)) {
    hosts_[babbles->host].babbled = true;
    hosts_[babbles->host].lost = true;
  } else if (const auto* said = std::get_if<HostSaid>(&event)) {
    heard(said->host, said->message, now);
  }
}

void HostsInvariants::heard(int index, const FromHost& message, TimePoint now) {
  Seen& host = hosts_[index];
  if (const auto* hello = std::get_if<HostHello>(&message)) {
    host.greeted = hello->version == rules_.version && hello->protocol == kHostProtocol;
  } else if (const auto* listening = std::get_if<HostListening>(&message)) {
    const bool follows =
        rules_.has_successors && coordinator_ && index != leader_ && runs(host) && !host.lost;
    if (follows) leader_ = index;
    if (follows || (index == leader_ && !coordinator_)) coordinator_ = *listening;
  } else if (const auto* end = std::get_if<HostEnded>(&message)) {
    if (!runs(host)) return;
    host.ended = true;
    if (!end->began) host.lost = true;
    if (end->verdict && !verdict_) verdict_ = end->code;
    host.told_nothing = !end->verdict;
    if (index != leader_ || !end->began) return;
    if (rules_.has_successors && coordinator_ && !end->verdict) return;
    if (!given_up_) leader_code_ = end->code;
    if (!over_since_) over_since_ = now;
  }
}

/// What a leader has said before it was lost is as good as its end.
void HostsInvariants::judge_lost_leader(TimePoint now) {
  if (leader_ < 0 || !coordinator_ || !verdict_ || over_since_) return;
  if (!hosts_[leader_].lost && !hosts_[leader_].told_nothing) return;
  leader_code_ = verdict_;
  over_since_ = now;
}

void HostsInvariants::did(const HostsAction& action, TimePoint now) {
  match(
      action,                                                                                  //
      [&](const Connect& a) { connected(a.host); }, [&](const StartAgent& a) { started(a); },  //
      [&](const PassSignal&) {}, [&](const KillSsh& a) { killed(a.host, now); },
      [&](const Complain&) {}, [&](const Finish& a) { finished(a.code); });
}

void HostsInvariants::connected(int index) {
  Seen& host = hosts_[index];
  require(!host.connected, [&] { return name(index) + " is connected to twice"; });
  require(!over_since_, [&] { return name(index) + " is connected to when all is over"; });
  host.connected = true;
  const auto connecting = std::ranges::count_if(
      hosts_, [](const Seen& h) { return h.connected && !h.greeted && !h.gone; });
  require(connecting <= kConnectingMax,
          [&] { return fmt::format("{} connections are made at once", connecting); });
}

void HostsInvariants::started(const StartAgent& order) {
  Seen& host = hosts_[order.host];
  const auto wrong = [&](const char* what) { return name(order.host) + " is started " + what; };
  require(host.connected && host.greeted, [&] { return wrong("before it has said hello"); });
  require(!host.started, [&] { return wrong("twice"); });
  require(!host.gone && !host.killed && !host.lost, [&] { return wrong("though it is lost"); });
  require(!over_since_, [&] { return wrong("when all is over"); });
  if (order.leads) {
    require(!coordinator_, [&] { return wrong("to lead where there is a coordinator"); });
    require(std::all_of(hosts_.begin(), hosts_.begin() + order.host,
                        [](const Seen& earlier) { return earlier.lost; }),
            [&] { return wrong("to lead though an earlier one could"); });
    leader_ = order.host;
  } else {
    require(coordinator_ && order.coordinator == *coordinator_,
            [&] { return wrong("without its leader's coordinator"); });
    require(leader_ >= 0 && !hosts_[leader_].lost,
            [&] { return wrong("though its leader is lost"); });
  }
  host.started = true;
}

/// An agent has the time that it was promised for its workers, unless the user is in a hurry.
void HostsInvariants::killed(int index, TimePoint now) {
  Seen& host = hosts_[index];
  require(host.connected && !host.gone, [&] { return name(index) + " is killed and has no ssh"; });
  const bool had_its_time = over_since_ && now >= *over_since_ + rules_.shutdown_timeout;
  const bool never_listened = index == leader_ && !coordinator_;
  require(!runs(host) || host.babbled || interrupts_ >= 3 || had_its_time || never_listened,
          [&] { return name(index) + " is killed before it had its time to stop"; });
  host.killed = true;
  if (!over_since_) host.lost = true;
}

void HostsInvariants::finished(int code) {
  require(!code_, [] { return "it ends twice"; });
  code_ = code;
  for (int i = 0; i < static_cast<int>(hosts_.size()); ++i)
    require(!hosts_[i].connected || hosts_[i].gone,
            [&] { return "it ends and " + name(i) + " is still there"; });
  if (leader_code_) {
    require(code == *leader_code_, [&] {
      return fmt::format("it ends with code {}, and the job with {}", code, *leader_code_);
    });
  } else if (deciding_signal_) {
    require(code == 128 + *deciding_signal_ || code == verdict_, [&] {
      return fmt::format("it ends with code {} after signal {}", code, *deciding_signal_);
    });
  } else {
    require(code != 0 || verdict_ == 0,
            [] { return "it ends with code 0 and no leader has said so"; });
  }
}

/// A signal goes to all agents that run. Those that are being killed need none.
void HostsInvariants::check_signals(const std::vector<HostsAction>& actions) {
  std::vector<bool> told(hosts_.size());
  for (const HostsAction& action : actions)
    if (const auto* signal = std::get_if<PassSignal>(&action)) {
      require(runs(hosts_[signal->host]),
              [&] { return name(signal->host) + " is signalled and does not run"; });
      told[signal->host] = true;
    }
  for (int i = 0; i < static_cast<int>(hosts_.size()); ++i)
    require(told[i] || !runs(hosts_[i]) || hosts_[i].killed,
            [&] { return name(i) + " runs and gets no signal"; });
}

/// Where nothing has begun, nothing is waited for.
void HostsInvariants::check_idle_hosts() {
  if (!over_since_) return;
  for (int i = 0; i < static_cast<int>(hosts_.size()); ++i) {
    const Seen& host = hosts_[i];
    require(!host.connected || host.started || host.killed || host.gone,
            [&] { return name(i) + " is kept though all is over and nothing has begun there"; });
  }
}

void HostsInvariants::check_end() {
  require(code_.has_value(), [&] {
    std::string left;
    for (int i = 0; i < static_cast<int>(hosts_.size()); ++i)
      if (hosts_[i].connected && !hosts_[i].gone) left += " " + name(i);
    return "nothing is left to happen, and it has not ended; still there:" + left;
  });
}

}  // namespace ddprun::simulation
