#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

using namespace std::chrono_literals;

JobPlan draw_plan(Random& random) {
  JobPlan plan;
  plan.nodes = random.number(2, 6);
  plan.rounds.terms.nodes_min = random.number(1, plan.nodes);
  plan.rounds.terms.nodes_max = random.number(plan.rounds.terms.nodes_min, plan.nodes);
  plan.rounds.terms.restarts_max = random.number(0, 5);
  plan.rounds.terms.last_call_timeout = random.time(0s, 20s);
  plan.rounds.terms.join_timeout = random.time(10s, 60s);
  plan.rounds.terms.heartbeat_timeout = random.time(2s, 8s);
  plan.group.workers = random.number(1, 3);
  plan.group.terms.shutdown_timeout = plan.rounds.terms.shutdown_timeout = random.time(1s, 10s);
  plan.group.preempt_timeout = random.time(1s, 20s);
  plan.group.preempt_timeout_after_sigterm = plan.group.preempt_timeout;
  plan.group.terms.heartbeat_timeout = plan.rounds.terms.heartbeat_timeout;
  plan.group.rejoin = random.chance(80);
  plan.run_max = random.time(10s, 240s);
  plan.ranks_wanted = random.chance(35);
  plan.failure_percent = random.chance(50) ? 0 : random.number(1, 15);
  plan.ignores_term_percent = random.chance(50) ? 0 : random.number(1, 30);
  plan.stuck_percent = random.chance(80) ? 0 : random.number(1, 30);
  if (random.chance(60) || plan.rounds.terms.nodes_max == 1)
    plan.rounds.leadership = LeadershipKind::kServer;
  if (is_served(plan)) plan.stuck_percent = 0;  // no deadline holds against that
  if (random.chance(40)) {
    plan.rounds.terms.restarts.delay_min_ms = random.time(0ms, 3s).count();
    plan.rounds.terms.restarts.delay_max_ms =
        plan.rounds.terms.restarts.delay_min_ms + random.time(0ms, 20s).count();
  }
  if (random.chance(30))
    plan.rounds.terms.node_policy = {random.number(1, 3), random.time(10s, 300s).count()};
  plan.group.checks_itself = random.chance(20);
  return plan;
}

}  // namespace ddprun::simulation
