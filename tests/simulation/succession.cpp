#include "tests/simulation/succession.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNodesMax = 8;

std::string host_name(int host) { return "host" + std::to_string(host); }

/// Half of an even number of nodes is a majority together with the witness.
void have_witness(World& world, JobPlan& plan) {
  plan.rounds.nodes_max = plan.nodes = world.random.chance(70) ? 2 : 4;
  plan.rounds.nodes_min = world.random.number(1, plan.nodes);
  if (world.random.chance(60)) plan.rounds.nodes_min = 1;
}

/// Jobs of three and more nodes. Workers heed signals or not; none is stuck in the kernel, because
/// no fence holds against that.
JobPlan plan_for(World& world) {
  JobPlan plan = world.plan;
  plan.nodes = world.random.number(3, 6);
  plan.rounds.nodes_min = world.random.number(1, plan.nodes);
  plan.rounds.nodes_max = world.random.number(std::max(plan.rounds.nodes_min, 3), plan.nodes);
  const bool witnessed = world.random.chance(35);
  if (witnessed) have_witness(world, plan);
  plan.rounds.leadership = LeadershipRules::Kind::kElected;
  plan.rounds.join_timeout = world.random.time(30s, 90s);
  plan.rounds.endpoint = "host0:1";
  plan.group.rejoin = true;
  plan.group.endpoint = plan.rounds.endpoint;
  plan.stuck_percent = 0;
  plan.ranks_wanted = false;
  const int places = witnessed                 ? 1
                     : world.random.chance(60) ? world.random.number(2, std::min(plan.nodes, 3))
                                               : 0;
  for (int host = 0; host < places; ++host)
    plan.rounds.places.push_back(host_name(host) + ":" + std::to_string(host + 1));
  if (witnessed)
    plan.rounds.places.push_back(host_name(WitnessShell::kHost) + ":" +
                                 std::to_string(WitnessShell::kNumber));
  plan.group.places = plan.rounds.places;
  return plan;
}

bool keeps_alive(const Parcel& parcel) {
  const auto* up = std::get_if<AgentMessage>(&parcel);
  const auto* down = std::get_if<CoordinatorMessage>(&parcel);
  return (up && std::holds_alternative<Beat>(*up)) ||
         (down && (std::holds_alternative<Beat>(*down) || std::holds_alternative<Waiting>(*down)));
}

}  // namespace

SuccessionRun::SuccessionRun(std::uint64_t seed, std::size_t trace_lines_max)
    : world_{seed, trace_lines_max} {
  world_.plan = plan_for(world_);
  world_.network.on_arrival(
      [this](LinkId link, Side to, const Parcel& parcel) { deliver(link, to, parcel); });
  nodes_.reserve(kNodesMax);
  const auto& places = world_.plan.rounds.places;
  if (!places.empty() && places.back().starts_with(host_name(WitnessShell::kHost)))
    witness_ = std::make_unique<WitnessShell>(world_, static_cast<Watcher&>(*this));
  for (int i = 0; i < world_.plan.nodes; ++i) add_node();
  pause_max_ = world_.random.time(500ms, 30s);
  calm_at_ = world_.time.now() + world_.random.time(20s, 300s);
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
}

/// The port of a node's coordinator is its number, and numbers begin with 1.
void SuccessionRun::add_node() {
  const int host = static_cast<int>(nodes_.size());
  const int number = host + 1;
  CoordinatorRules rules = world_.plan.rounds;
  if (host > 0)
    rules.begins = LeadershipRules::Begins::kStandingBy;
  else if (!rules.places.empty())
    rules.begins = LeadershipRules::Begins::kAsking;
  rules.endpoint = host_name(host) + ":" + std::to_string(number);
  const auto others = [this](int wanted) -> CoordinatorShell* {
    const auto index = static_cast<std::size_t>(wanted - 1);
    return index < nodes_.size() && !nodes_[index].off ? nodes_[index].coordinator.get() : nullptr;
  };
  world_.network.put_coordinator(number, host);
  Node& node = nodes_.emplace_back();
  node.coordinator = std::make_unique<CoordinatorShell>(world_, static_cast<Watcher&>(*this),
                                                        number, std::move(rules), others);
  node.coordinator->have_witness(witness_.get());
  node.agent = std::make_unique<AgentShell>(world_, static_cast<Watcher&>(*this), number, host);
  node.agent->start();
}

void SuccessionRun::deliver(LinkId link, Side to, const Parcel& parcel) {
  if (!keeps_alive(parcel))
    world_.trace.note(world_.time.now(), [&] {
      const std::string host = host_name(world_.network.host_of_agent(link));
      const std::string coordinator = "c" + std::to_string(world_.network.coordinator_of(link) - 1);
      return (to == Side::kAgent ? coordinator + " > " + host : host + " > " + coordinator) + ": " +
             text_of(parcel);
    });
  pass_on(link, to, parcel);
}

void SuccessionRun::pass_on(LinkId link, Side to, const Parcel& parcel) {
  const int coordinator = world_.network.coordinator_of(link);
  const int agent = world_.network.agent_of(link);
  if (to == Side::kCoordinator && coordinator == WitnessShell::kNumber)
    turn_away(link, parcel);
  else if (to == Side::kCoordinator)
    nodes_[static_cast<std::size_t>(coordinator - 1)].coordinator->receive(link, parcel);
  else if (agent == WitnessShell::kNumber)
    witness_->receive(link, parcel);
  else
    nodes_[static_cast<std::size_t>(agent - 1)].agent->receive(link, parcel);
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

bool SuccessionRun::over() const {
  return has_two_jobs_ ||
         std::ranges::all_of(nodes_, [](const Node& node) { return node.agent->gone(); });
}

SuccessionRun::Outcome SuccessionRun::run(std::uint64_t seed, std::size_t trace_lines_max) {
  SuccessionRun run{seed, trace_lines_max};
  return run.carry_out();
}

SuccessionRun::Outcome SuccessionRun::carry_out() {
  const auto late = [&] {
    if (!calm_since_) return false;
    const auto& rules = world_.plan.rounds;
    const auto once = world_.plan.run_max + 4 * rules.heartbeat_timeout + 60s;
    return world_.time.now() - *calm_since_ >
           2 * rules.join_timeout + (rules.restarts_max + 4) * once;
  };
  while (!broken_ && !over() && !late() && world_.time.run_next()) check_one_world();
  check_end();
  return {broken_,
          world_.trace.lines(),
          std::chrono::duration_cast<milliseconds>(world_.time.now().time_since_epoch()),
          rounds_,
          faults_,
          static_cast<int>(heads_.size())};
}

// --- what happens ---

void SuccessionRun::strike() {
  if (world_.time.now() >= calm_at_) return calm_down();
  world_.time.after(world_.random.time(0ms, pause_max_), [this] { strike(); });
  ++faults_;
  const int kind = world_.random.number(0, 99);
  Node& node = nodes_[static_cast<std::size_t>(
      world_.random.number(0, static_cast<int>(nodes_.size()) - 1))];
  if (kind < 5 && nodes_.size() < kNodesMax) {
    note("a node starts");
    add_node();
  } else if (kind < 17 && witness_) {
    hit_witness();
  } else if (kind < 40) {
    hit_head();
  } else if (kind < 55) {
    split();
  } else if (kind < 70) {
    break_links();
  } else if (kind < 85) {
    hit(node);
  } else {
    note(host_name(node.agent->host()) + " has a worker that ends");
    node.agent->worker_exits({.code = world_.random.number(0, 1)});
  }
}

/// Whoever coordinates; and perhaps the next one soon after.
void SuccessionRun::hit_head() {
  std::vector<Node*> heads;
  for (Node& node : nodes_)
    if (node.coordinator->epoch() > 0) heads.push_back(&node);
  if (heads.empty()) return;
  hit(*heads[static_cast<std::size_t>(
      world_.random.number(0, static_cast<int>(heads.size()) - 1))]);
  if (world_.random.chance(30))
    world_.time.after(world_.random.time(0ms, 1'500ms), [this] { hit_head(); });
}

void SuccessionRun::hit(Node& node) {
  if (node.agent->gone()) return;
  const int kind = world_.random.number(0, 99);
  if (kind < 15) {
    kill(node);
  } else if (kind < 20) {
    note(host_name(node.agent->host()) + " loses its power");
    node.agent->power_off();
    node.coordinator->end(false);
    node.off = true;
  } else if (kind < 60) {
    freeze(node);
  } else if (kind < 95) {
    cut(node);
  } else {
    note(host_name(node.agent->host()) + " gets SIGTERM");
    node.agent->stop_signal(SIGTERM);
  }
}

void SuccessionRun::hit_witness() {
  if (witness_->gone() || witness_->frozen()) return;
  const int kind = world_.random.number(0, 99);
  if (kind < 40 && !may_forget()) return;
  if (kind < 40) {
    const bool told = world_.random.chance(70);
    note(std::string{"the witness is killed"} + (told ? "" : ", and nobody hears of it"));
    witness_->end(told);
    world_.time.after(world_.random.time(10ms, 20s), [this] {
      note("the witness starts again");
      witness_->begin_again();
    });
  } else if (kind < 60) {
    note("the witness freezes");
    witness_->freeze();
    world_.time.after(a_while(), [this] {
      note("the witness thaws");
      witness_->thaw();
    });
  } else {
    note("the witness is cut off");
    world_.network.cut(WitnessShell::kHost, world_.random.chance(70), world_.random.chance(70));
    world_.time.after(a_while(), [this] {
      note("the witness is no longer cut off");
      world_.network.heal(WitnessShell::kHost);
    });
  }
}

/// The first place of a job cannot know that the job is there already when the only one has
/// forgotten it who could have told.
bool SuccessionRun::may_forget() const { return !nodes_[0].coordinator->may_begin_job(); }

void SuccessionRun::kill(Node& node) {
  note(host_name(node.agent->host()) + " is killed");
  node.agent->kill();
  node.coordinator->end(true);
  const std::size_t index = static_cast<std::size_t>(node.agent->host());
  if (world_.random.chance(60))
    world_.time.after(world_.random.time(10ms, 20s), [this, index] { start_again(nodes_[index]); });
}

void SuccessionRun::freeze(Node& node) {
  if (node.agent->frozen()) return;
  note(host_name(node.agent->host()) + " freezes");
  node.agent->freeze();
  node.coordinator->freeze();
  const std::size_t index = static_cast<std::size_t>(node.agent->host());
  world_.time.after(a_while(), [this, index] {
    Node& thawing = nodes_[index];
    if (!thawing.agent->frozen() || thawing.agent->gone()) return;
    note(host_name(thawing.agent->host()) + " thaws");
    thawing.agent->thaw();
    thawing.coordinator->thaw();
  });
}

void SuccessionRun::cut(Node& node) {
  const int host = node.agent->host();
  note(host_name(host) + " is cut off");
  const int kind = world_.random.number(0, 3);  // one way, the other way, both
  world_.network.cut(host, kind != 1, kind != 0);
  world_.time.after(a_while(), [this, host] {
    if (nodes_[static_cast<std::size_t>(host)].off) return;
    note(host_name(host) + " is no longer cut off");
    world_.network.heal(host);
  });
}

/// Some of the nodes are cut off from the others, and from each other.
void SuccessionRun::split() {
  const int percent = world_.random.number(20, 70);
  for (Node& node : nodes_)
    if (!node.agent->gone() && world_.random.chance(percent)) cut(node);
}

/// The machine of a node whose processes were killed runs ddprun again, which knows nothing. The
/// first place of the job cannot know that the job is there already when it reaches none of the
/// others who know of it, so this is left out.
void SuccessionRun::start_again(Node& node) {
  if (!may_start_again(node)) return;
  const int host = node.agent->host();
  note(host_name(host) + " starts again");
  node.before.push_back(std::move(node.agent));
  node.agent = std::make_unique<AgentShell>(world_, static_cast<Watcher&>(*this), host + 1, host,
                                            static_cast<int>(node.before.size()));
  node.coordinator->begin_again();
  node.agent->start();
}

bool SuccessionRun::may_start_again(const Node& node) {
  const int host = node.agent->host();
  const bool killed = node.coordinator->gone() && node.agent->gone() && !node.off;
  const std::size_t listed = world_.plan.rounds.places.size() - (witness_ ? 1 : 0);
  if (!killed || host >= static_cast<int>(listed)) return false;
  const auto knows = [&](const Node& other) {
    return !other.coordinator->gone() && !other.coordinator->frozen() &&
           other.coordinator->reachable_from(host) && other.coordinator->leader().epoch > 0;
  };
  const auto told = witness_ ? witness_->tells(host) : std::nullopt;
  if (told && told->epoch > 0) return true;
  return host > 0 ||
         std::any_of(nodes_.begin() + 1, nodes_.begin() + static_cast<int>(listed), knows);
}

/// Connections end, and nothing else does.
void SuccessionRun::break_links() {
  const int percent = world_.random.chance(50) ? 100 : world_.random.number(10, 90);
  note("connections break");
  for (const Node& node : nodes_) {
    if (node.agent->link() < 0 || !world_.random.chance(percent)) continue;
    const auto learned = [&] { return world_.random.time(0ms, 20ms); };
    world_.network.break_link(node.agent->link(), learned(), learned());
  }
}

void SuccessionRun::calm_down() {
  note("no more faults");
  for (Node& node : nodes_) {
    if (node.off) continue;
    node.agent->thaw();
    node.coordinator->thaw();
    world_.network.heal(node.agent->host());
  }
  if (witness_) witness_->thaw();
  world_.network.heal(WitnessShell::kHost);
  calm_since_ = world_.time.now();
}

milliseconds SuccessionRun::a_while() {
  return world_.random.time(100ms, 3 * world_.plan.rounds.heartbeat_timeout);
}

void SuccessionRun::note(const std::string& what) {
  world_.trace.note(world_.time.now(), [&] { return "* " + what; });
}

void SuccessionRun::led(const AgentShell& agent, const Leader& leader) {
  const std::size_t index = static_cast<std::size_t>(agent.host());
  world_.time.after(0ms,
                    [this, index, leader] { nodes_[index].coordinator->agent_follows(leader); });
}

}  // namespace ddprun::simulation
