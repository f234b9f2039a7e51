// What must hold in every simulated job on several hosts. The invariants see the machine's events
// and actions from outside, and know nothing of what it remembers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts_machine.hpp"
#include "tests/simulation/random.hpp"

namespace ddprun::simulation {

class HostsInvariants {
 public:
  explicit HostsInvariants(const HostsRules& rules);

  /// One step of the machine: its event, and its actions.
  void stepped(const HostsEvent& event, const std::vector<HostsAction>& actions, TimePoint now,
               std::optional<TimePoint> next_alarm);

  /// Nothing is left to happen.
  void check_end();

  /// The first that was broken, as a sentence.
  const std::optional<std::string>& broken() const { return broken_; }

 private:
  struct Seen {
    bool connected = false;
    bool greeted = false;  // with our version
    bool started = false;
    bool ended = false;   // has said so
    bool killed = false;  // the machine wants its ssh to end
    bool gone = false;
    bool lost = false;  // it takes no part in the job any more
    bool babbled = false;
    bool told_nothing = false;  // has ended before the job has
  };

  void heard(const HostsEvent& event, TimePoint now);
  void heard(int host, const FromHost& message, TimePoint now);
  void judge_lost_leader(TimePoint now);
  void did(const HostsAction& action, TimePoint now);
  void connected(int host);
  void started(const StartAgent& order);
  void killed(int host, TimePoint now);
  void finished(int code);
  void check_idle_hosts();
  void check_signals(const std::vector<HostsAction>& actions);
  bool runs(const Seen& host) const { return host.started && !host.ended && !host.gone; }
  template <typename Text>
  void require(bool holds, Text text) {
    if (!holds && !broken_) broken_ = text();
  }
  std::string name(int host) const { return "h" + std::to_string(host); }

  HostsRules rules_;
  std::vector<Seen> hosts_;
  int leader_ = -1;
  std::optional<HostListening> coordinator_;
  std::optional<int> verdict_;           // the job's code, as an agent has said first
  std::optional<int> leader_code_;       // the job's, as its leader has said
  std::optional<TimePoint> over_since_;  // the leader has ended, or the user or the machine stops
  std::optional<int> deciding_signal_;   // a user's who stops a job that could have gone on
  int interrupts_ = 0;
  bool given_up_ = false;  // the machine stops a job that cannot go on
  std::optional<int> code_;
  std::optional<std::string> broken_;
};

}  // namespace ddprun::simulation
