// Gives tests of HostsMachine its hosts, and words for what it does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "launcher/hosts/hosts_machine.hpp"

namespace ddprun {

// Hosts h1, h2, ... and what the machine wants of them, told as words.
class HostsFixture {
 protected:
  void hosts(int n, int nodes_min = 0) {
    HostsRules rules{.nodes_min = nodes_min == 0 ? n : nodes_min,
                     .has_successors = has_successors_,
                     .ssh = {{"ssh"}, "/opt/ddprun"},
                     .version = "1.0",
                     .shutdown_timeout = std::chrono::seconds{30}};
    for (int i = 1; i <= n; ++i) rules.hosts.push_back({"h" + std::to_string(i), {}});
    machine_.emplace(std::move(rules));
  }
  std::string step(const HostsEvent& event) {
    std::string said;
    for (const HostsAction& action : machine_->step(event, now_))
      said += (said.empty() ? "" : ", ") + word(action);
    return said;
  }
  std::string after(std::chrono::milliseconds time) {
    now_ += time;
    const auto due = machine_->next_alarm();
    return due && now_ >= *due ? step(HostsAlarm{}) : "";
  }
  /// From the next job on, a coordinator that is lost is followed by another agent's.
  void have_successors() { has_successors_ = true; }
  std::string hello(int host, std::string version = "1.0") {
    return step(HostSaid{host - 1, HostHello{kHostProtocol, std::move(version)}});
  }
  std::string listening(int host) {
    return step(HostSaid{host - 1, HostListening{"10.0.0.1", 400}});
  }
  std::string ended(int host, int code, bool began = true, bool verdict = true) {
    return step(HostSaid{host - 1, HostEnded{code, began, verdict}});
  }
  std::string gone(int host, int code = 0, std::vector<std::string> words = {}) {
    return step(HostGone{host - 1, {.code = code}, std::move(words)});
  }
  bool takes_report_of(int host) const { return machine_->takes_report_of(host - 1); }
  /// All of them run, and h1 leads.
  void run(int n, int nodes_min = 0) {
    hosts(n, nodes_min);
    step(Begin{});
    for (int i = 1; i <= n; ++i) hello(i);
    listening(1);
  }

 private:
  std::string name(int host) const { return "h" + std::to_string(host + 1); }
  std::string word(const HostsAction& action) const {
    if (const auto* a = std::get_if<Connect>(&action)) return "connect " + name(a->host);
    if (const auto* a = std::get_if<StartAgent>(&action))
      return (a->leads ? "lead " : "start ") + name(a->host) +
             (a->leads ? "" : " at " + a->coordinator.host);
    if (const auto* a = std::get_if<PassSignal>(&action))
      return "signal " + std::to_string(a->signal) + " " + name(a->host);
    if (const auto* a = std::get_if<KillSsh>(&action)) return "kill " + name(a->host);
    if (const auto* a = std::get_if<Complain>(&action)) return "'" + a->text + "'";
    return "exit " + std::to_string(std::get<Finish>(action).code);
  }

  std::optional<HostsMachine> machine_;
  TimePoint now_{};
  bool has_successors_ = false;
};

}  // namespace ddprun
