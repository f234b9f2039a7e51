#include "tests/simulation/etcd_run.hpp"

#include "rendezvous/etcd/members_writer.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

/// Workers heed signals or not; none is stuck in the kernel, because no deadline holds against
/// that.
JobPlan plan_for(World& world) {
  JobPlan plan = world.plan;
  plan.rounds.terms.nodes_max =
      world.random.number(std::max(plan.rounds.terms.nodes_min, 2), plan.nodes);
  plan.rounds.leadership = LeadershipKind::kEtcd;
  plan.rounds.begins = Begins::kStandingBy;
  plan.rounds.terms.join_timeout = world.random.time(30s, 90s);
  plan.group.rejoin = true;
  plan.stuck_percent = 0;
  plan.ranks_wanted = false;
  return plan;
}

}  // namespace

EtcdRun::EtcdRun(std::uint64_t seed, std::size_t trace_lines_max) : world_{seed, trace_lines_max} {
  world_.plan = plan_for(world_);
  world_.network.on_arrival([this](LinkId link, Side to, const Parcel& parcel) {
    nodes_.note(link, to, parcel);
    nodes_.deliver(link, to, parcel);
  });
  nodes_.start_again_if([this](const Node&) { return may_begin_anew(); });
  for (int i = 0; i < world_.plan.nodes; ++i) nodes_.add(Begins::kStandingBy).start();
  pause_max_ = world_.random.time(500ms, 30s);
  calm_at_ = world_.time.now() + world_.random.time(20s, 300s);
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
}

EtcdRun::Outcome EtcdRun::run(std::uint64_t seed, std::size_t trace_lines_max) {
  EtcdRun run{seed, trace_lines_max};
  return run.carry_out();
}

EtcdRun::Outcome EtcdRun::carry_out() {
  while (!invariants_.broken() && !nodes_.all_are_gone() && !is_late() && world_.time.run_next())
    invariants_.check_one_world();
  invariants_.check_end();
  return {invariants_.broken(),
          world_.trace.lines(),
          std::chrono::duration_cast<milliseconds>(world_.time.now().time_since_epoch()),
          invariants_.rounds(),
          faults_,
          invariants_.heads()};
}

/// Where all members of a round are lost, etcd keeps them for a while.
bool EtcdRun::is_late() const {
  if (!calm_since_) return false;
  const CoordinatorRules& rules = world_.plan.rounds;
  const auto once = world_.plan.run_max + 4 * rules.terms.heartbeat_timeout + 60s;
  return world_.time.now() - *calm_since_ > 2 * rules.terms.join_timeout +
                                                (rules.terms.restarts_max + 4) * once +
                                                kMembersTimeouts * rules.terms.heartbeat_timeout;
}

// --- what happens ---

void EtcdRun::strike() {
  if (world_.time.now() >= calm_at_) return calm_down();
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
  ++faults_;
  const int kind = world_.random.number(0, 99);
  Node& node = nodes_.any();
  if (kind < 5 && nodes_.size() < Nodes::kMax && may_begin_anew()) {
    nodes_.note("a node starts");
    nodes_.add(Begins::kStandingBy).start();
  } else if (kind < 25) {
    hit_etcd();
  } else if (kind < 48) {
    nodes_.hit_head();
  } else if (kind < 60) {
    nodes_.split();
  } else if (kind < 72) {
    nodes_.break_links();
  } else if (kind < 87) {
    nodes_.hit(node);
  } else {
    nodes_.hit_worker(node);
  }
}

void EtcdRun::hit_etcd() {
  const int kind = world_.random.number(0, 99);
  if (kind < 25) return stop_etcd();
  if (kind < 65) return cut_off_etcd();
  const bool elects = kind < 80;
  nodes_.note(elects ? "etcd elects a leader" : "etcd is slow");
  if (elects)
    etcd_.elect_leaders(true);
  else
    etcd_.slow_down(world_.random.time(50ms, 1'500ms));
  world_.time.after(nodes_.a_while(), [this] {
    nodes_.note("etcd is well");
    etcd_.elect_leaders(false);
    etcd_.slow_down(Network::kDelayMax);
  });
}

void EtcdRun::stop_etcd() {
  nodes_.note("etcd stops");
  etcd_.stop();
  world_.time.after(world_.random.time(10ms, nodes_.a_while()), [this] {
    nodes_.note("etcd starts again");
    etcd_.start_again();
  });
}

/// From all nodes or some of them, which reach each other yet.
void EtcdRun::cut_off_etcd() {
  const int percent = world_.random.chance(40) ? 100 : world_.random.number(20, 80);
  for (const auto& node : nodes_) {
    if (!world_.random.chance(percent)) continue;
    const int host = node->host();
    nodes_.note(host_name(host) + " is cut off from etcd");
    const int kind = world_.random.number(0, 3);  // questions, answers, both
    etcd_.cut(host, kind != 1, kind != 0);
    world_.time.after(nodes_.a_while(), [this, host] {
      nodes_.note(host_name(host) + " is no longer cut off from etcd");
      etcd_.heal(host);
    });
  }
}

/// A job of the same name that finds the verdict of this one would begin again.
bool EtcdRun::may_begin_anew() { return etcd_.read().members.verdict.empty(); }

void EtcdRun::calm_down() {
  nodes_.calm_down();
  etcd_.calm_down();
  calm_since_ = world_.time.now();
}

}  // namespace ddprun::simulation
