// Watcher: the shells of a simulated run report to it what they do, when they do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/rounds/coordinator_machine.hpp"

namespace ddprun::simulation {

class AgentShell;
class CoordinatorShell;

class Watcher {
 public:
  virtual ~Watcher() = default;

  virtual void joins(const AgentShell& agent) = 0;
  virtual void starts_workers(const AgentShell& agent, const StartRound& round) = 0;
  /// A worker got what breaks a promise: a sentence.
  virtual void broke(const std::string& promise) = 0;
  virtual void exits(const AgentShell& agent) = 0;
  virtual void gives_up_coordinator(const AgentShell& agent) = 0;  // because it is silent
  virtual void gives_up_connecting(const AgentShell& agent) = 0;
  virtual void coordinator_did(const CoordinatorShell& coordinator, const CoordinatorEvent& event,
                               const std::vector<CoordinatorAction>& actions) = 0;
  virtual void coordinator_begins_again() = 0;  // and knows nothing
  /// etcd knows of no such job any more, or how it has ended.
  virtual void job_begins_anew() {}
  /// etcd knows of no members, and who is elected knows a job.
  virtual void members_forgotten() {}
  /// etcd knows how the job has ended.
  virtual void verdict_written() {}

  /// A timer that is still due after its event would spin.
  virtual void rang(const char* timer, std::optional<TimePoint> next) = 0;
};

}  // namespace ddprun::simulation
