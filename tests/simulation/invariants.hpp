// Invariants: what must hold at every moment of a simulated run, whatever happens. They see what
// coordinator and agents do from outside, and know nothing of what the machines remember.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/watcher.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

class Cluster;
class AgentShell;

class Invariants : public Watcher {
 public:
  Invariants(World& world, Cluster& cluster) : world_{world}, cluster_{cluster} {}

  // What the shells tell, when it happens.
  void joins(const AgentShell& agent) override;
  void starts_workers(const AgentShell& agent, const StartRound& round) override;
  void broke(const std::string& promise) override {
    require(false, [&] { return promise; });
  }
  void exits(const AgentShell& agent) override;
  void gives_up_coordinator(const AgentShell& agent) override;
  void gives_up_connecting(const AgentShell& agent) override;
  void coordinator_did(const CoordinatorShell& coordinator, const CoordinatorEvent& event,
                       const std::vector<CoordinatorAction>& actions) override;
  void coordinator_begins_again() override;
  void rang(const char* timer, std::optional<TimePoint> next) override;

  /// Whatever follows from time alone; after every event.
  void check();

  /// Faults are over: from now on the job has to make progress.
  void calm_begins();
  /// Nobody may wait longer than until then.
  std::optional<TimePoint> deadline() const { return deadline_; }
  void check_end();

  /// The first that was broken.
  const std::optional<std::string>& broken() const { return broken_; }
  int rounds() const { return round_; }
  int rounds_that_went_on() const { return rounds_that_went_on_; }

 private:
  struct Sealed {  // a node's part in a round
    StartRound start;
    int workers = 0;  // how many of the node are in it
  };
  struct Counted {  // a connection whose node joined and was not dropped
    int round = 0;  // the last it is a member of
    TimePoint heard;
    bool prepares = false;                   // its workers start beside the round
    std::optional<TimePoint> prepared = {};  // they are, since then, and it is in no round yet
    bool left_out = false;                   // it was the cause of failures
    bool debugs = false;                     // workers of that round
  };

  template <typename Text>
  void require(bool holds, Text text) {
    if (!holds && !broken_) broken_ = text();
  }
  void heard(const CoordinatorEvent& event);
  bool is_first_failure(const CoordinatorEvent& event) const;
  bool counts_a_failure(const CoordinatorEvent& event,
                        const std::vector<CoordinatorAction>& actions);
  void let_in(PeerId peer, const Joined& answer);
  void sent(const SendTo& action, std::vector<Sealed>& sealed);
  void check_sealed(const std::vector<Sealed>& sealed);
  void check_nobody_kept_waiting();
  void check_nobody_left(int next_round);
  void check_verdict(const EndJob& verdict);
  void check_nobody_debugs();
  void check_cut_off(const AgentShell& agent);
  void check_patience(const AgentShell& agent);
  void check_lost(const DropPeer& lost);
  void check_answered(const FromPeer& joining, const std::vector<CoordinatorAction>& actions);
  void check_spare_ends_nothing(const CoordinatorEvent& event,
                                const std::vector<CoordinatorAction>& actions);
  bool is_member(PeerId peer) const;
  bool ends_the_job(PeerId peer) const;
  bool undisturbed(const AgentShell& agent) const;
  milliseconds patience_with_refusals(const AgentShell& agent) const;
  void check_one_live_round();
  void check_one_live_world();
  void check_silent_evicted();
  void check_progress();
  bool round_runs() const;
  const AgentShell& agent(PeerId peer) const;
  int counted_hosts() const;
  int failures_told() const;
  milliseconds stop_max() const;
  milliseconds pause_max() const;

  World& world_;
  Cluster& cluster_;
  std::map<PeerId, Counted> counted_;
  int round_ = 0;
  int round_nodes_ = 0;
  int world_size_ = 0;
  int round_coordinator_ = 1;  // which one has begun it
  bool went_on_ = false;       // under another one
  int rounds_that_went_on_ = 0;
  bool stopping_ = false;
  bool cause_awaited_ = false;    // a worker has lost a peer, which may stop the round later
  bool end_announced_ = false;    // by a member, to the coordinator
  bool spare_announced_ = false;  // by another node
  bool ever_announced_ = false;   // to any coordinator: workers may be writing a checkpoint
  int failures_ = 0;              // that ended a round, as far as the coordinator can know
  std::optional<EndJob> verdict_;
  std::optional<TimePoint> calm_since_;
  std::optional<TimePoint> deadline_;
  TimePoint last_fine_;
  std::optional<std::string> broken_;
};

}  // namespace ddprun::simulation
