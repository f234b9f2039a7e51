// SuccessionRun: a job whose coordinator may be lost, and followed by one of its agents, from a
// seed to its end. Each agent is in one process with what may coordinate the job; the first one
// does.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/agent_shell.hpp"
#include "tests/simulation/coordinator_shell.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/witness_shell.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class SuccessionRun : private Watcher {
 public:
  struct Outcome {
    std::optional<std::string> broken;  // the first invariant that was
    std::deque<std::string> trace;
    milliseconds simulated{};
    int rounds = 0;
    int faults = 0;
    int heads = 0;  // that there were, one after the other
  };
  static Outcome run(std::uint64_t seed, std::size_t trace_lines_max);

 private:
  struct Node {
    std::unique_ptr<CoordinatorShell> coordinator;
    std::unique_ptr<AgentShell> agent;
    bool off = false;                                      // no power: nobody answers for its host
    std::vector<std::unique_ptr<AgentShell>> before = {};  // agents that were killed
  };

  SuccessionRun(std::uint64_t seed, std::size_t trace_lines_max);
  Outcome carry_out();
  void add_node();
  void deliver(LinkId link, Side to, const Parcel& parcel);
  void pass_on(LinkId link, Side to, const Parcel& parcel);
  void turn_away(LinkId link, const Parcel& parcel);
  bool over() const;
  bool all_is_forgotten(const AgentShell* but = nullptr) const;
  bool is_cut_off(const CoordinatorShell& coordinator);

  // What happens to it.
  void strike();
  void hit(Node& node);
  void hit_head();
  void hit_witness();
  bool may_forget() const;
  void split();
  void break_links();
  void kill(Node& node);
  void start_again(Node& node);
  bool may_start_again(const Node& node);
  void freeze(Node& node);
  void cut(Node& node);
  void calm_down();
  milliseconds a_while();
  void note(const std::string& what);

  // What must hold.
  void joins(const AgentShell& agent) override;
  void starts_workers(const AgentShell& agent, const StartRound& round) override;
  void exits(const AgentShell& agent) override;
  void gives_up_coordinator(const AgentShell&) override {}
  void led(const AgentShell& agent, const Leader& leader) override;
  void gives_up_connecting(const AgentShell&) override {}
  void coordinator_did(const CoordinatorShell& coordinator, const CoordinatorEvent& event,
                       const std::vector<CoordinatorAction>& actions) override;
  void coordinator_begins_again() override {}
  void rang(const char* timer, std::optional<TimePoint> next) override;
  void check_one_world();
  void check_end();
  template <typename Text>
  void require(bool holds, Text text) {
    if (!holds && !broken_) broken_ = text();
  }

  World world_;
  std::vector<Node> nodes_;
  std::unique_ptr<WitnessShell> witness_;  // nullptr: there is none
  std::map<std::int64_t, int> heads_;      // the one that has admitted somebody in each epoch
  int attempt_ = 0;                        // the greatest one that more than half have begun
  std::map<ConfigurationVersion, int>
      ended_;  // nodes that were in it last and know how the job has ended
  std::optional<EndJob::Outcome> verdict_;     // with which more than half of them have ended
  std::map<ConfigurationVersion, int> begun_;  // by how many nodes
  int rounds_ = 0;
  int faults_ = 0;
  milliseconds pause_max_{};
  TimePoint calm_at_;
  std::optional<TimePoint> calm_since_;
  std::optional<std::string> broken_;
  bool has_two_jobs_ = false;  // the first place has begun a second one, and could not know better
};

}  // namespace ddprun::simulation
