#include "launcher/doctor/ask/doctor_messages.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

InterfaceReading interface(const std::string& name, std::vector<std::string> addresses) {
  return {.name = name, .addresses = std::move(addresses), .up = true, .loopback = name == "lo"};
}

/// A node with Docker's bridge before the interface that leads to others.
NodeReading docker_host() {
  NodeReading node{.node = "h1"};
  node.interfaces = {interface("lo", {"127.0.0.1", "::1"}), interface("docker0", {"172.17.0.1"}),
                     interface("eth0", {"10.0.0.1", "fe80::1%eth0", "fd77::1"})};
  return node;
}

std::string nccl(const NodeReading& node) {
  const auto chosen = address_for_nccl(node);
  return chosen ? chosen->interface + " " + chosen->address : "none";
}

std::string gloo(const NodeReading& node) {
  const auto chosen = address_for_gloo(node);
  return chosen ? chosen->interface + " " + chosen->address : "none";
}

TEST_CASE("NCCL takes ib* first, docker* and lo last, and nothing that is down") {
  NodeReading node = docker_host();
  CHECK(nccl(node) == "eth0 10.0.0.1");
  node.interfaces.push_back(interface("ib0", {"10.1.0.1"}));
  CHECK(nccl(node) == "ib0 10.1.0.1");
  node.interfaces[3].up = node.interfaces[2].up = false;
  CHECK(nccl(node) == "docker0 172.17.0.1");
  node.interfaces[1].up = false;
  CHECK(nccl(node) == "lo 127.0.0.1");
  CHECK(nccl(NodeReading{}) == "none");
}

TEST_CASE("NCCL_SOCKET_IFNAME takes precedence, and may name what is not there") {
  NodeReading node = docker_host();
  node.nccl_interfaces = "docker";
  CHECK(nccl(node) == "docker0 172.17.0.1");
  node.nccl_interfaces = "^lo,docker";
  CHECK(nccl(node) == "eth0 10.0.0.1");
  node.nccl_interfaces = "=eth";
  CHECK(nccl(node) == "none");
}

TEST_CASE("an interface with IPv6 alone does for NCCL") {
  NodeReading node;
  node.interfaces = {interface("eth0", {"fe80::1%eth0", "fd77::1"})};
  CHECK(nccl(node) == "eth0 fd77::1");
}

TEST_CASE("Gloo takes GLOO_SOCKET_IFNAME, or the address of the node's name") {
  NodeReading node = docker_host();
  CHECK(gloo(node) == "none");
  node.names.own_name = LookupReading{.answers = {"192.0.2.7", "172.17.0.1"}};
  CHECK(gloo(node) == "docker0 172.17.0.1");
  node.gloo_interfaces = "eth0,eth1";
  CHECK(gloo(node) == "eth0 10.0.0.1");
}

TEST_CASE("other nodes try each address that will be used, once") {
  Examined node{docker_host(), "10.0.0.1", 4711};
  node.reading.names.own_name = LookupReading{.question = "node-1", .answers = {"172.17.0.1"}};
  auto ways = ways_to(node);
  REQUIRE(ways.size() == 3);
  CHECK(ways[0].host == "10.0.0.1");
  CHECK(ways[0].name == "node-1");
  CHECK(ways[1].use == "Gloo");
  CHECK(ways[1].host == "172.17.0.1");
  CHECK(ways[2].use == "IPv6");
  CHECK(ways[2].host == "fd77::1");
  node.reading.nccl_interfaces = "docker0";  // it is Gloo's, too
  CHECK(ways_to(node).size() == 3);
  node.host = "10.9.0.1";
  node.reading.nccl_interfaces = "eth0";
  CHECK(ways_to(node).at(2).use == "NCCL");
  node.port = 0;
  CHECK(ways_to(node).empty());
}

TEST_CASE("an address of loopback is not tried by others") {
  Examined node{docker_host(), "10.0.0.1", 4711};
  node.reading.names.own_name = LookupReading{.answers = {"127.0.0.1"}};
  CHECK(ways_to(node).size() == 2);
}

}  // namespace
}  // namespace ddprun
