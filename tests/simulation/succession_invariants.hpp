// SuccessionInvariants: what must hold in a job whose coordinator may be lost, and followed by one
// of its agents. Each agent is in one process with what may coordinate the job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/nodes.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class SuccessionInvariants : public Watcher {
 public:
  /// Both must outlive it.
  /// How many nodes of a round may lead the job after it without the others.
  enum class Successors { kMost, kAny };

  SuccessionInvariants(World& world, const Nodes& nodes, Successors successors)
      : world_{world}, nodes_{nodes}, successors_{successors} {}

  // What the shells do.
  void joins(const AgentShell& agent) override;
  void starts_workers(const AgentShell& agent, const StartRound& round) override;
  void broke(const std::string& promise) override {
    require(false, [&] { return promise; });
  }
  void exits(const AgentShell& agent) override;
  void gives_up_coordinator(const AgentShell&) override {}
  void gives_up_connecting(const AgentShell&) override {}
  void coordinator_did(const CoordinatorShell& coordinator, const CoordinatorEvent& event,
                       const std::vector<CoordinatorAction>& actions) override;
  void coordinator_begins_again() override {}
  void job_begins_anew() override;
  void members_forgotten() override { attempt_ = 0; }
  void verdict_written() override { is_verdict_known_ = true; }
  void rang(const char* timer, std::optional<TimePoint> next) override;

  // After each event, and at the end.
  void check_one_world();
  void check_end();

  /// The first invariant that was broken.
  const std::optional<std::string>& broken() const { return broken_; }
  /// Whether the first place has begun a second job, and could not know better.
  bool has_two_jobs() const { return has_two_jobs_; }
  int rounds() const { return rounds_; }
  /// How many coordinators there were, one after the other.
  int heads() const { return static_cast<int>(heads_.size()); }

 private:
  bool is_cut_off(const CoordinatorShell& coordinator) const;
  bool all_is_forgotten(const AgentShell* but = nullptr) const;
  template <typename Text>
  void require(bool holds, Text text) {
    if (!holds && !broken_) broken_ = text();
  }

  World& world_;
  const Nodes& nodes_;
  const Successors successors_;
  std::map<std::int64_t, int> heads_;  // the one that has admitted somebody in each epoch
  int attempt_ = 0;                    // the greatest one that every successor knows
  std::map<ConfigurationVersion, int>
      ended_;  // nodes that were in it last and know how the job has ended
  std::optional<EndJob::Outcome> verdict_;     // with which more than half of them have ended
  bool is_verdict_known_ = false;              // every successor hears of it
  std::map<ConfigurationVersion, int> begun_;  // by how many nodes
  int rounds_ = 0;
  bool has_two_jobs_ = false;
  std::optional<std::string> broken_;
};

}  // namespace ddprun::simulation
