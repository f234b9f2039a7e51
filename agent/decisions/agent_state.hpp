// AgentState: what the parts of AgentMachine share. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "agent/decisions/contact.hpp"
#include "rendezvous/leadership/follower.hpp"

namespace ddprun {

struct AgentState {
  AgentRules rules;
  Follower follower;
  JobCounters counters;               // the most that coordinators have sent of the job
  std::optional<Contact> contact;     // with the coordinator; nullopt: there is no connection
  bool keeps_workers = false;         // as Joined has it
  std::vector<Successor> successors;  // as the coordinator of the last round sent them
  std::string extra_voter;            // "the witness", "a spare", as it votes in the last round
  bool may_stay = false;              // the round's workers, where the coordinator is lost
  std::string unfit;                  // as Fitness', by the last look at this node
  std::optional<EndJob> held_end;     // the end of the job, which perhaps not all know yet
  std::optional<AgentEnd> end;        // this agent's own, once nothing of the round is alive
  std::vector<AgentAction> actions;

  void act(AgentAction action) { actions.push_back(std::move(action)); }
  void warn(std::string text) { act(Warn{std::move(text)}); }
  /// Tells the coordinator, where there is a connection to it.
  void tell(AgentMessage message);
  /// Tells it that this node is alive and what it knows of the job.
  void beat(TimePoint now);
  std::chrono::milliseconds beat_interval() const;
};

}  // namespace ddprun
