// Nodes: all nodes of a job whose coordinator may be lost, and what may happen to any of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/node.hpp"

namespace ddprun::simulation {

class Nodes {
 public:
  static constexpr std::size_t kMax = 8;

  /// `etcd` says who coordinates; null: the nodes do.
  Nodes(World& world, Watcher& watcher, SimulatedEtcd* etcd = nullptr);
  Nodes(const Nodes&) = delete;

  /// Asks `may` before the process of a node that was killed is started again.
  void start_again_if(std::function<bool(const Node&)> may) { may_start_again_ = std::move(may); }

  Node& add(Begins begins);
  /// Hands on what is for a node.
  void deliver(LinkId link, Side to, const Parcel& parcel);

  // What happens to them.
  void hit(Node& node);
  void hit_head();  // the coordinator; and perhaps the next one soon after
  void split();
  void break_links();
  void hit_worker(Node& node);
  void calm_down();
  /// Shorter or longer than the timeout that notices it.
  milliseconds a_while();
  void note(const std::string& what);
  /// What arrives, unless it only says that somebody is alive.
  void note(LinkId link, Side to, const Parcel& parcel);

  Node& any();
  std::size_t size() const { return nodes_.size(); }
  Node& operator[](int host) { return *nodes_[static_cast<std::size_t>(host)]; }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }
  bool all_are_gone() const;

 private:
  void kill(Node& node);
  void freeze(Node& node);
  void cut(Node& node);

  World& world_;
  Watcher& watcher_;
  SimulatedEtcd* etcd_;
  std::function<bool(const Node&)> may_start_again_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace ddprun::simulation
