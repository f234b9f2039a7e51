#include "tests/simulation/nodes.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

bool keeps_alive(const Parcel& parcel) {
  const auto* up = std::get_if<AgentMessage>(&parcel);
  const auto* down = std::get_if<CoordinatorMessage>(&parcel);
  return (up && std::holds_alternative<Beat>(*up)) ||
         (down && (std::holds_alternative<Beat>(*down) || std::holds_alternative<Waiting>(*down)));
}

}  // namespace

Nodes::Nodes(World& world, Watcher& watcher, SimulatedEtcd* etcd)
    : world_{world}, watcher_{watcher}, etcd_{etcd} {}

Node& Nodes::add(Begins begins) {
  const int host = static_cast<int>(nodes_.size());
  CoordinatorRules rules = world_.plan.rounds;
  rules.begins = begins;
  rules.endpoint = endpoint_of(host);
  const auto others = [this](int wanted) -> CoordinatorShell* {
    const auto index = static_cast<std::size_t>(wanted - 1);
    return index < nodes_.size() && !nodes_[index]->is_off() ? &nodes_[index]->coordinator()
                                                             : nullptr;
  };
  world_.network.put_coordinator(host + 1, host);
  nodes_.push_back(std::make_unique<Node>(world_, watcher_, host, std::move(rules), others, etcd_));
  return *nodes_.back();
}

void Nodes::note(LinkId link, Side to, const Parcel& parcel) {
  if (keeps_alive(parcel)) return;
  world_.trace.note(world_.time.now(), [&] {
    const std::string host = host_name(world_.network.host_of_agent(link));
    const std::string coordinator = "c" + std::to_string(world_.network.coordinator_of(link) - 1);
    return (to == Side::kAgent ? coordinator + " > " + host : host + " > " + coordinator) + ": " +
           text_of(parcel);
  });
}

void Nodes::deliver(LinkId link, Side to, const Parcel& parcel) {
  const int coordinator = world_.network.coordinator_of(link) - 1;
  const int agent = world_.network.agent_of(link) - 1;
  if (to == Side::kCoordinator)
    (*this)[coordinator].coordinator().receive(link, parcel);
  else
    (*this)[agent].agent().receive(link, parcel);
}

bool Nodes::all_are_gone() const {
  return std::ranges::all_of(nodes_, [](const auto& node) { return node->agent().gone(); });
}

Node& Nodes::any() { return (*this)[world_.random.number(0, static_cast<int>(nodes_.size()) - 1)]; }

void Nodes::hit_head() {
  std::vector<Node*> heads;
  for (const auto& node : nodes_)
    if (node->coordinator().epoch() > 0) heads.push_back(node.get());
  if (heads.empty()) return;
  hit(*heads[static_cast<std::size_t>(
      world_.random.number(0, static_cast<int>(heads.size()) - 1))]);
  if (world_.random.chance(30))
    world_.time.after(world_.random.time(0ms, 1'500ms), [this] { hit_head(); });
}

void Nodes::hit(Node& node) {
  if (node.agent().gone()) return;
  const int kind = world_.random.number(0, 99);
  if (kind < 15) {
    kill(node);
  } else if (kind < 20) {
    note(host_name(node.host()) + " loses its power");
    node.power_off();
  } else if (kind < 60) {
    freeze(node);
  } else if (kind < 95) {
    cut(node);
  } else {
    note(host_name(node.host()) + " gets SIGTERM");
    node.agent().stop_signal(SIGTERM);
  }
}

/// The machine of a node whose processes were killed may run ddprun again, which knows nothing.
void Nodes::kill(Node& node) {
  note(host_name(node.host()) + " is killed");
  node.kill();
  if (!world_.random.chance(60)) return;
  world_.time.after(world_.random.time(10ms, 20s), [this, &node] {
    const bool killed = node.coordinator().gone() && node.agent().gone() && !node.is_off();
    if (!killed || !may_start_again_(node)) return;
    note(host_name(node.host()) + " starts again");
    node.start_again();
  });
}

void Nodes::freeze(Node& node) {
  if (node.agent().frozen()) return;
  note(host_name(node.host()) + " freezes");
  node.freeze();
  world_.time.after(a_while(), [this, &node] {
    if (!node.agent().frozen() || node.agent().gone()) return;
    note(host_name(node.host()) + " thaws");
    node.thaw();
  });
}

void Nodes::cut(Node& node) {
  note(host_name(node.host()) + " is cut off");
  const int kind = world_.random.number(0, 3);  // one way, the other way, both
  world_.network.cut(node.host(), kind != 1, kind != 0);
  world_.time.after(a_while(), [this, &node] {
    if (node.is_off()) return;
    note(host_name(node.host()) + " is no longer cut off");
    world_.network.heal(node.host());
  });
}

/// Some of the nodes are cut off from the others, and from each other.
void Nodes::split() {
  const int percent = world_.random.number(20, 70);
  for (const auto& node : nodes_)
    if (!node->agent().gone() && world_.random.chance(percent)) cut(*node);
}

/// Connections end, and nothing else does.
void Nodes::break_links() {
  const int percent = world_.random.chance(50) ? 100 : world_.random.number(10, 90);
  note("connections break");
  for (const auto& node : nodes_) {
    if (node->agent().link() < 0 || !world_.random.chance(percent)) continue;
    const auto learned = [&] { return world_.random.time(0ms, 20ms); };
    world_.network.break_link(node->agent().link(), learned(), learned());
  }
}

void Nodes::hit_worker(Node& node) {
  if (world_.random.chance(25)) {
    note(host_name(node.host()) + " has a worker that is debugged");
    return node.agent().debug_worker(world_.random.chance(70));
  }
  note(host_name(node.host()) + " has a worker that ends");
  node.agent().worker_exits({.code = world_.random.number(0, 1)});
}

void Nodes::calm_down() {
  note("no more faults");
  for (const auto& node : nodes_) {
    if (node->is_off()) continue;
    node->thaw();
    world_.network.heal(node->host());
  }
}

milliseconds Nodes::a_while() {
  return world_.random.time(100ms, 3 * world_.plan.rounds.terms.heartbeat_timeout);
}

void Nodes::note(const std::string& what) {
  world_.trace.note(world_.time.now(), [&] { return "* " + what; });
}

}  // namespace ddprun::simulation
