// World: what everything in one simulated run shares, and how it is drawn from the seed.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/decisions/agent_machine.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/timeline.hpp"

namespace ddprun::simulation {

/// The last events, as lines. Writing them costs more than the run: only a replay does.
class Trace {
 public:
  explicit Trace(std::size_t lines_max) : lines_max_{lines_max} {}
  template <typename Line>  // a callable, called when the line is wanted
  void note(TimePoint now, Line line) {
    if (lines_max_ == 0) return;
    const auto ms = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
    const std::string fraction = std::to_string(1000 + ms % 1000).substr(1);
    lines_.push_back(std::to_string(ms / 1000) + "." + fraction + "  " + line());
    if (lines_.size() > lines_max_) lines_.pop_front();
  }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::size_t lines_max_;
  std::deque<std::string> lines_;
};

/// What kind of job it is, and what its workers are like.
struct JobPlan {
  CoordinatorRules rounds;
  AgentRules group;  // workers: the most on one node
  int nodes = 2;     // at first
  milliseconds run_max{};
  bool ranks_wanted = false;  // every node asks for its own
  int failure_percent = 0;    // as many workers of a round fail
  int ignores_term_percent = 0;
  int stuck_percent = 0;  // as many of those stay for a while after SIGKILL, too
  int stays_percent = 0;  // as many workers can stay while members of the job change
  bool resizes = true;    // those do not need as many of them as before
  bool warm = false;      // workers are forked by a server
};

/// Whether a `ddprun server` coordinates the job.
inline bool is_served(const JobPlan& plan) {
  return plan.rounds.leadership == LeadershipKind::kServer;
}

JobPlan draw_plan(Random& random);

struct World {
  World(std::uint64_t seed, std::size_t trace_lines_max)
      : random{seed}, plan{draw_plan(random)}, network{time, random}, trace{trace_lines_max} {
    if (seed % 3 == 0) plan.stays_percent = seed % 2 == 0 ? 100 : 95;
    plan.resizes = seed % 5 != 0;
    plan.warm = seed % 4 < 2;
    plan.rounds.terms.hang_timeout = seed % 2 == 0 ? kHangTimeoutAuto : std::chrono::seconds{5};
  }
  World(const World&) = delete;

  /// How long the workers of a round have to do, if nothing happens to them.
  milliseconds run_time(int round) {
    const auto found = run_times.find(round);
    if (found != run_times.end()) return found->second;
    return run_times[round] = random.time(plan.run_max / 10, plan.run_max);
  }

  Random random;
  JobPlan plan;
  Timeline time;
  Network network;
  Trace trace;
  std::map<int, milliseconds> run_times;
  std::vector<NodeFailure> node_failures;  // in the folder that nodes share
  int coordinators = 1;  // so far; each begins with nothing that the one before it knew
};

}  // namespace ddprun::simulation
