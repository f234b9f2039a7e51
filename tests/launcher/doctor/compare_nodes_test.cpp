#include "launcher/doctor/check/checks.hpp"
#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

/// `count` equal nodes, h1 and so on, that reach each other and share their folder.
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
    node.peers.shares_with = names;
    for (const std::string& other : names)
      if (other != name)
        node.peers.links.push_back({.node = other, .address = "10.0.0.1", .ms = 0.5, .mtu = 1500});
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
  nodes[2].peers.shares_with = std::vector<std::string>{"h3"};
  nodes[0].peers.shares_with = nodes[1].peers.shares_with = std::vector<std::string>{"h1", "h2"};
  CHECK(differences(nodes) == Differences{"failed checkpoints-shared on h3"});
  nodes.pop_back();
  nodes[0].peers.shares_with = std::vector<std::string>{"h1"};
  nodes[1].peers.shares_with = std::vector<std::string>{"h2"};
  CHECK(differences(nodes) ==
        Differences{"failed checkpoints-shared on h1", "failed checkpoints-shared on h2"});
  for (NodeReading& node : nodes) node.peers.shares_with.reset();
  CHECK(differences(nodes) == Differences{});
}

TEST_CASE("folders of logs may all be one or all be others, but not both") {
  auto nodes = equal_nodes(3);
  for (NodeReading& node : nodes) node.peers.shares_logs_with = std::vector<std::string>{node.node};
  CHECK(differences(nodes) == Differences{});
  nodes[0].peers.shares_logs_with = nodes[1].peers.shares_logs_with =
      std::vector<std::string>{"h1", "h2"};
  CHECK(differences(nodes) == Differences{"warning logs-shared on h3"});
  for (NodeReading& node : nodes)
    node.peers.shares_logs_with = std::vector<std::string>{"h1", "h2", "h3"};
  CHECK(differences(nodes) == Differences{});
}

TEST_CASE("a node with fewer CPUs than most others is found, whatever takes them") {
  auto nodes = equal_nodes(3);
  nodes[2].cpus.quota = 4;
  CHECK(differences(nodes) == Differences{"warning same-cpus on h3"});
  nodes[2].cpus.quota.reset();
  nodes[1].cpus.usable = 16;
  CHECK(differences(nodes) == Differences{"warning same-cpus on h2"});
}

TEST_CASE("nodes that cannot be reached, slow ones and an MTU that is too large are found") {
  auto nodes = equal_nodes(4);
  nodes[0].peers.links[1].error = "Connection refused";
  nodes[1].peers.links[0].small_only = true;
  nodes[2].peers.links[0].rtt_ms = 200;
  nodes[3].peers.links[0].mtu = 9000;
  CHECK(differences(nodes) == Differences{"warning same-mtu on h4", "failed link on h1",
                                          "failed mtu on h2", "warning link on h3"});
  CHECK(finding_on(check_links(nodes), "link").seen ==
        "this node cannot connect to h3: Connection refused (10.0.0.1)");
}

TEST_CASE("a node that most others have trouble with is named once, and they are not") {
  auto nodes = equal_nodes(4);
  for (std::size_t i : {0, 1, 3}) {
    LinkReading& to_third = nodes[i].peers.links[i < 2 ? 1 : 2];
    REQUIRE(to_third.node == "h3");
    to_third.error = "no answer within 2 s";
  }
  CHECK(differences(nodes) == Differences{"failed link on h3"});
  CHECK(finding_on(check_links(nodes), "link").seen ==
        "h1, h2 and h4 cannot connect to this node: no answer within 2 s (10.0.0.1)");
  for (LinkReading& link : nodes[2].peers.links) link.error = "no answer within 2 s";
  CHECK(differences(nodes) == Differences{"failed link on h3"});
  CHECK_THAT(finding_on(check_links(nodes), "link").seen,
             contains("; this node cannot connect to h1, h2 and h4: no answer"));
}

TEST_CASE("an address that Gloo, NCCL or IPv6 takes, and that others do not reach, is found") {
  auto nodes = equal_nodes(3);
  for (std::size_t i : {0, 1})
    for (const char* use : {"Gloo", "NCCL", "IPv6"})
      nodes[i].peers.links.push_back(
          {.node = "h3", .use = use, .address = "172.17.0.1 port 9", .error = "refused"});
  CHECK(differences(nodes) == Differences{"failed gloo-address on h3", "failed nccl-address on h3",
                                          "warning ipv6 on h3"});
  CHECK(finding_on(check_links(nodes), "nccl-address").seen ==
        "h1 and h2 cannot connect to the address of this node that NCCL takes: refused "
        "(172.17.0.1)");
  for (std::size_t i : {0, 1})
    nodes[i].peers.links[1].error = "refused";  // the node is not there at all
  CHECK(differences(nodes) == Differences{"failed link on h3"});
}

/// Nodes whose names are looked up by the others, and found at the right address.
std::vector<NodeReading> nodes_with_names() {
  auto nodes = equal_nodes(3);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].interfaces = {
        {.name = "eth0", .addresses = {"10.0.0." + std::to_string(i)}, .up = true}};
    nodes[i].names.own_name = LookupReading{.question = nodes[i].node};
    for (std::size_t j = 0; j < nodes.size(); ++j)
      if (j != i)
        nodes[i].peers.peer_names.push_back(
            {nodes[j].node,
             {.question = nodes[j].node, .answers = {"10.0.0." + std::to_string(j)}, .ms = 1}});
  }
  return nodes;
}

std::vector<std::string> name_complaints(const std::vector<NodeReading>& nodes) {
  std::vector<std::string> texts;
  for (const Finding& finding : check_peer_names(nodes))
    if (finding.severity != Severity::kOk) texts.push_back(finding.node + ": " + finding.seen);
  return texts;
}

TEST_CASE("a name that leads elsewhere, is slow or is known to some nodes alone is found") {
  auto nodes = nodes_with_names();
  CHECK(name_complaints(nodes) == Differences{});
  CHECK(check_peer_names(nodes).front().node == kAllNodes);
  nodes[0].peers.peer_names[1].lookup.answers = {"127.0.1.1"};
  CHECK(name_complaints(nodes) ==
        Differences{"h3: its name, 'h3', is 127.0.1.1 on h1, which is no address of this node that "
                    "others reach"});
  nodes = nodes_with_names();
  nodes[0].peers.peer_names[0].lookup.ms.reset();
  CHECK(name_complaints(nodes) == Differences{"h2: its name, 'h2', takes long to look up on h1"});
  nodes = nodes_with_names();
  nodes[1].peers.peer_names[0].lookup.error = "Name or service not known";
  CHECK(name_complaints(nodes) ==
        Differences{"h1: its name, 'h1', is not known on h2, and on h3 it is"});
}

TEST_CASE("names that no node knows are no mistake, because jobs do not need them") {
  auto nodes = nodes_with_names();
  for (NodeReading& node : nodes)
    for (PeerNameReading& peer : node.peers.peer_names)
      peer.lookup.error = "Name or service not known";
  CHECK(name_complaints(nodes) == Differences{});
}

}  // namespace
}  // namespace ddprun
