#include "tests/simulation/succession.hpp"

#include <algorithm>
#include <utility>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

/// Half of an even number of nodes is a majority together with the witness.
void have_witness(World& world, JobPlan& plan) {
  plan.rounds.terms.nodes_max = plan.nodes = world.random.chance(70) ? 2 : 4;
  plan.rounds.terms.nodes_min = world.random.number(1, plan.nodes);
  if (world.random.chance(60)) plan.rounds.terms.nodes_min = 1;
}

/// Jobs of two and more nodes, many of them with spares. Workers heed signals or not; none is stuck
/// in the kernel, because no deadline holds against that.
JobPlan plan_for(World& world) {
  JobPlan plan = world.plan;
  plan.nodes = world.random.number(3, 6);
  plan.rounds.terms.nodes_max = world.random.chance(30) ? 2 : world.random.number(2, plan.nodes);
  plan.rounds.terms.nodes_min = world.random.number(1, plan.rounds.terms.nodes_max);
  const bool witnessed = world.random.chance(35);
  if (witnessed) have_witness(world, plan);
  plan.rounds.leadership = LeadershipKind::kElected;
  plan.rounds.terms.join_timeout = world.random.time(30s, 90s);
  plan.rounds.endpoint = "host0:1";
  plan.group.rejoin = true;
  plan.group.endpoint = plan.rounds.endpoint;
  plan.stuck_percent = 0;
  plan.ranks_wanted = false;
  const int places = witnessed                 ? 1
                     : world.random.chance(60) ? world.random.number(2, std::min(plan.nodes, 3))
                                               : 0;
  for (int host = 0; host < places; ++host) plan.rounds.places.push_back(endpoint_of(host));
  if (witnessed)
    plan.rounds.places.push_back(host_name(WitnessShell::kHost) + ":" +
                                 std::to_string(WitnessShell::kNumber));
  plan.group.places = plan.rounds.places;
  return plan;
}

}  // namespace

SuccessionRun::SuccessionRun(std::uint64_t seed, std::size_t trace_lines_max)
    : world_{seed, trace_lines_max} {
  world_.plan = plan_for(world_);
  world_.network.on_arrival(
      [this](LinkId link, Side to, const Parcel& parcel) { deliver(link, to, parcel); });
  nodes_.start_again_if([this](const Node& node) { return may_start_again(node); });
  const auto& places = world_.plan.rounds.places;
  if (!places.empty() && places.back().starts_with(host_name(WitnessShell::kHost)))
    witness_ = std::make_unique<WitnessShell>(world_, invariants_);
  for (int i = 0; i < world_.plan.nodes; ++i) add_node();
  pause_max_ = world_.random.time(500ms, 30s);
  calm_at_ = world_.time.now() + world_.random.time(20s, 300s);
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
}

void SuccessionRun::add_node() {
  const bool asks = !world_.plan.rounds.places.empty();
  const Begins first = asks ? Begins::kAsking : Begins::kLeading;
  Node& node = nodes_.add(nodes_.size() > 0 ? Begins::kStandingBy : first);
  node.coordinator().have_witness(witness_.get());
  node.start();
}

void SuccessionRun::deliver(LinkId link, Side to, const Parcel& parcel) {
  nodes_.note(link, to, parcel);
  if (to == Side::kCoordinator && world_.network.coordinator_of(link) == WitnessShell::kNumber)
    turn_away(link, parcel);
  else if (to == Side::kAgent && world_.network.agent_of(link) == WitnessShell::kNumber)
    witness_->receive(link, parcel);
  else
    nodes_.deliver(link, to, parcel);
}

/// The witness hosts no job. It tells a node where the coordinator is, if it knows that.
void SuccessionRun::turn_away(LinkId link, const Parcel& parcel) {
  const auto* message = std::get_if<AgentMessage>(&parcel);
  const auto* join = message != nullptr ? std::get_if<Join>(message) : nullptr;
  const auto told = witness_->tells(WitnessShell::kHost);
  if (join == nullptr || !told) return;
  const bool later = !told->coordinator.empty() && told->epoch > join->voter.promised;
  const CoordinatorMessage answer =
      later ? CoordinatorMessage{Redirect{told->coordinator, told->epoch}}
            : CoordinatorMessage{Refused{"it hosts no job", true}};
  world_.network.send(link, Side::kCoordinator, answer);
  world_.network.finish(link, Side::kCoordinator);
}

SuccessionRun::Outcome SuccessionRun::run(std::uint64_t seed, std::size_t trace_lines_max) {
  SuccessionRun run{seed, trace_lines_max};
  return run.carry_out();
}

SuccessionRun::Outcome SuccessionRun::carry_out() {
  const auto late = [&] {
    if (!calm_since_) return false;
    const auto& rules = world_.plan.rounds;
    const auto once = world_.plan.run_max + 4 * rules.terms.heartbeat_timeout + 60s;
    return world_.time.now() - *calm_since_ >
           2 * rules.terms.join_timeout + (rules.terms.restarts_max + 4) * once;
  };
  const auto over = [&] { return invariants_.has_two_jobs() || nodes_.all_are_gone(); };
  while (!invariants_.broken() && !over() && !late() && world_.time.run_next())
    invariants_.check_one_world();
  invariants_.check_end();
  return {invariants_.broken(),
          world_.trace.lines(),
          std::chrono::duration_cast<milliseconds>(world_.time.now().time_since_epoch()),
          invariants_.rounds(),
          faults_,
          invariants_.heads()};
}

// --- what happens ---

void SuccessionRun::strike() {
  if (world_.time.now() >= calm_at_) return calm_down();
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
  ++faults_;
  const int kind = world_.random.number(0, 99);
  Node& node = nodes_.any();
  if (kind < 5 && nodes_.size() < Nodes::kMax) {
    nodes_.note("a node starts");
    add_node();
  } else if (kind < 17 && witness_) {
    hit_witness();
  } else if (kind < 40) {
    nodes_.hit_head();
  } else if (kind < 55) {
    nodes_.split();
  } else if (kind < 70) {
    nodes_.break_links();
  } else if (kind < 85) {
    nodes_.hit(node);
  } else {
    nodes_.hit_worker(node);
  }
}

void SuccessionRun::hit_witness() {
  if (witness_->gone() || witness_->frozen()) return;
  const int kind = world_.random.number(0, 99);
  if (kind < 40 && !may_forget()) return;
  if (kind < 40) {
    const bool told = world_.random.chance(70);
    nodes_.note(std::string{"the witness is killed"} + (told ? "" : ", and nobody hears of it"));
    witness_->end(told);
    world_.time.after(world_.random.time(10ms, 20s), [this] {
      nodes_.note("the witness starts again");
      witness_->begin_again();
    });
  } else if (kind < 60) {
    nodes_.note("the witness freezes");
    witness_->freeze();
    world_.time.after(nodes_.a_while(), [this] {
      nodes_.note("the witness thaws");
      witness_->thaw();
    });
  } else {
    nodes_.note("the witness is cut off");
    world_.network.cut(WitnessShell::kHost, world_.random.chance(70), world_.random.chance(70));
    world_.time.after(nodes_.a_while(), [this] {
      nodes_.note("the witness is no longer cut off");
      world_.network.heal(WitnessShell::kHost);
    });
  }
}

/// The first place of a job cannot know that the job is there already when the only one has
/// forgotten it who could have told.
bool SuccessionRun::may_forget() { return !nodes_[0].coordinator().may_begin_job(); }

/// The first place of the job cannot know that the job is there already when it reaches none of the
/// other voters that know of it.
bool SuccessionRun::may_start_again(const Node& node) {
  const int host = node.host();
  const int listed = static_cast<int>(world_.plan.rounds.places.size()) - (witness_ ? 1 : 0);
  if (host >= listed) return false;
  const auto told = witness_ ? witness_->tells(host) : std::nullopt;
  if (host > 0 || (told && told->epoch > 0)) return true;
  return std::any_of(nodes_.begin() + 1, nodes_.begin() + listed, [&](const auto& other) {
    const CoordinatorShell& coordinator = other->coordinator();
    return !coordinator.gone() && !coordinator.frozen() && coordinator.reachable_from(host) &&
           coordinator.leader().epoch > 0;
  });
}

void SuccessionRun::calm_down() {
  nodes_.calm_down();
  if (witness_) witness_->thaw();
  world_.network.heal(WitnessShell::kHost);
  calm_since_ = world_.time.now();
}

}  // namespace ddprun::simulation
