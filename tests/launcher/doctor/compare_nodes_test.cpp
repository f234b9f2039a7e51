#include "launcher/doctor/compare_nodes.hpp"

#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

/// So many equal nodes, h1 and so on, that reach each other and share their folder.
std::vector<NodeReading> equal_nodes(int count) {
  std::vector<NodeReading> nodes;
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("h" + std::to_string(i));
  for (const std::string& name : names) {
    NodeReading node = recorded("healthy_dgx");
    node.node = name;
    node.script = ScriptReading{.path = "train.py", .sha256 = std::string(64, 'a')};
    node.clock_offset_ms = 2;
    node.clock_doubt_ms = 1;
    node.shares_with = names;
    for (const std::string& other : names)
      if (other != name)
        node.links.push_back({.node = other, .address = "10.0.0.1", .ms = 0.5, .mtu = 1500});
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// "failed same-torch on h3"
std::vector<std::string> differences(const std::vector<NodeReading>& nodes) {
  Findings all = compare_nodes(nodes);
  for (const Finding& finding : check_links(nodes)) all.push_back(finding);
  std::vector<std::string> texts = complaints(all);
  std::size_t i = 0;
  for (const Finding& finding : all)
    if (finding.severity != Severity::kOk) texts[i++] += " on " + finding.node;
  return texts;
}

using Differences = std::vector<std::string>;

TEST_CASE("equal nodes have no complaints, and one finding for each comparison") {
  const auto nodes = equal_nodes(8);
  CHECK(differences(nodes) == Differences{});
  for (const Finding& finding : compare_nodes(nodes)) CHECK(finding.node == kAllNodes);
  CHECK(check_links(nodes).front().seen == "each node reaches each other one, 56 connections");
  CHECK(compare_nodes(equal_nodes(1)).empty());
}

TEST_CASE("the node that differs from most is named") {
  auto nodes = equal_nodes(4);
  nodes[2].python->torch = "2.10.0+cu128";
  nodes[1].script->sha256 = std::string(64, 'b');
  nodes[3].gpus->gpus.pop_back();
  nodes[0].ddprun = "0.2.0";
  CHECK(differences(nodes) == Differences{"warning same-ddprun on h1", "failed same-torch on h3",
                                          "failed same-script on h2", "warning same-gpus on h4"});
  for (const Finding& finding : compare_nodes(nodes))
    if (finding.subject == "same-torch")
      CHECK(finding.seen == "torch 2.10.0+cu128, and 2.11.0+cu128 on h1, h2 and h4");
}

TEST_CASE("of two nodes that differ the second one is named") {
  auto nodes = equal_nodes(2);
  nodes[1].python->nccl = "2.21.5";
  CHECK(differences(nodes) == Differences{"failed same-nccl on h2"});
}

TEST_CASE("a patch of Python is no difference, and a node without torch is no other version") {
  auto nodes = equal_nodes(3);
  nodes[1].python->version = "3.11.9";
  nodes[2].python->torch.clear();
  CHECK(differences(nodes) == Differences{});
  nodes[1].python->version = "3.12.9";
  CHECK(differences(nodes) == Differences{"warning same-python on h2"});
}

TEST_CASE("a clock that is wrong by more than a second is found, whichever it is") {
  auto nodes = equal_nodes(3);
  nodes[0].clock_offset_ms = 5000;  // the launcher's is beside it, and both others agree
  CHECK(differences(nodes) == Differences{"warning clock on h1"});
  nodes[0].clock_doubt_ms = 4500;  // it may be all right: the answer took 9 s
  CHECK(differences(nodes) == Differences{});
  nodes[1].clock_offset_ms = nodes[2].clock_offset_ms = 5100;
  nodes[0].clock_offset_ms = 5000;
  CHECK(differences(nodes) == Differences{});
}

TEST_CASE("a folder that is another one on a node is found") {
  auto nodes = equal_nodes(3);
  nodes[2].shares_with = std::vector<std::string>{"h3"};
  nodes[0].shares_with = nodes[1].shares_with = std::vector<std::string>{"h1", "h2"};
  CHECK(differences(nodes) == Differences{"failed checkpoints-shared on h3"});
  nodes.pop_back();
  nodes[0].shares_with = std::vector<std::string>{"h1"};
  nodes[1].shares_with = std::vector<std::string>{"h2"};
  CHECK(differences(nodes) ==
        Differences{"failed checkpoints-shared on h1", "failed checkpoints-shared on h2"});
  for (NodeReading& node : nodes) node.shares_with.reset();
  CHECK(differences(nodes) == Differences{});
}

TEST_CASE("nodes that cannot be reached, slow ones and an MTU that is too large are found") {
  auto nodes = equal_nodes(4);
  nodes[0].links[1].error = nodes[0].links[2].error = "Connection refused";
  nodes[1].links[0].small_only = true;
  nodes[2].links[0].ms = 900;
  nodes[3].links[0].mtu = 9000;
  CHECK(differences(nodes) == Differences{"warning same-mtu on h4", "failed link on h1",
                                          "failed mtu on h2", "warning link on h3"});
  CHECK(finding_on(check_links(nodes), "link").seen ==
        "cannot connect to h3 (10.0.0.1) and h4 (10.0.0.1): Connection refused");
}

}  // namespace
}  // namespace ddprun
