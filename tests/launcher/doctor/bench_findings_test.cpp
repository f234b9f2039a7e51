#include <random>

#include "launcher/doctor/check/checks.hpp"
#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

constexpr double kGbit = 1000;

std::string name_of(std::size_t host) { return "h" + std::to_string(host); }

NodeSpeeds node_with(std::string name, int cpus = 4) {
  NodeSpeeds node{.node = std::move(name)};
  for (int cpu = 0; cpu < cpus; ++cpu)
    node.cpus.push_back({.cpu = cpu, .wall_ms = 101, .cpu_ms = 100});
  for (int numa : {0, 1})
    node.memory.push_back({.numa_node = numa, .threads = 4, .bytes = 1 << 29, .gb_per_s = 40});
  return node;
}

std::vector<NodeSpeeds> nodes_with(std::size_t count) {
  std::vector<NodeSpeeds> nodes;
  for (std::size_t i = 1; i <= count; ++i) nodes.push_back(node_with(name_of(i)));
  return nodes;
}

/// All pairs of hosts h1, h2, ..., at 10 Gbit/s and 80 µs.
Measurements links_of(std::size_t hosts) {
  Measurements measured{.pairs = hosts * (hosts - 1) / 2};
  for (std::size_t a = 1; a <= hosts; ++a)
    for (std::size_t b = a + 1; b <= hosts; ++b)
      measured.links.push_back({.from = name_of(a),
                                .to = name_of(b),
                                .rtt_us = 80,
                                .there_mbit_per_s = 10 * kGbit,
                                .back_mbit_per_s = 10 * kGbit});
  return measured;
}

LinkSpeed& link(Measurements& measured, const std::string& from, const std::string& to) {
  for (LinkSpeed& each : measured.links)
    if (each.from == from && each.to == to) return each;
  FAIL("there is no link from " << from << " to " << to);
  throw 0;
}

/// What `node` sends to all others has that speed.
void limit_sending(Measurements& measured, const std::string& node, double mbit_per_s) {
  for (LinkSpeed& each : measured.links) {
    if (each.from == node) each.there_mbit_per_s = mbit_per_s;
    if (each.to == node) each.back_mbit_per_s = mbit_per_s;
  }
}

/// "h2 link-bandwidth: 10 Mbit/s to h1, ..." of each complaint.
std::vector<std::string> complaints_with_nodes(const Findings& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kOk) continue;
    CHECK(finding.severity == Severity::kWarning);
    CHECK_FALSE(finding.why.empty());
    CHECK_FALSE(finding.advice.empty());
    texts.push_back(finding.node + " " + finding.subject + ": " + finding.seen);
  }
  return texts;
}

using Texts = std::vector<std::string>;

// --- CPUs and memory ---

TEST_CASE("equal nodes are well, alone or together") {
  for (const std::size_t count : {1U, 2U, 3U, 8U}) {
    const auto found = check_speeds(nodes_with(count));
    CHECK(complaints_with_nodes(found).empty());
    CHECK(found.size() == 2 * count);
    CHECK(doubtful_nodes(nodes_with(count)).empty());
  }
}

TEST_CASE("a CPU that another process uses is distinguished from one that is slow") {
  auto nodes = nodes_with(1);
  nodes[0].cpus[3] = {.cpu = 3, .wall_ms = 203, .cpu_ms = 100};
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h1 cpu-time: CPU 3: only 49 % of the time is there for a job"});
  nodes[0].cpus[3] = {.cpu = 3, .wall_ms = 253, .cpu_ms = 250};
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h1 cpu-speed: CPU 3: 40 % of the speed of this node's other CPUs"});
  CHECK(doubtful_nodes(nodes) == std::vector<std::size_t>{0});
}

TEST_CASE("a quota shows on all CPUs, and says nothing about memory") {
  auto nodes = nodes_with(3);
  for (CpuSpeed& cpu : nodes[1].cpus) cpu.wall_ms = 330 + 10 * cpu.cpu;
  for (MemorySpeed& memory : nodes[1].memory) memory.gb_per_s = 10;
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h2 cpu-time: CPUs 0-3: only 28 % of the time is there for a job on the worst of "
              "them"});
  CHECK(doubtful_nodes(nodes) == std::vector<std::size_t>{1});
}

TEST_CASE("a node whose CPUs are all slow is compared with the other nodes") {
  auto nodes = nodes_with(3);
  for (CpuSpeed& cpu : nodes[2].cpus) cpu.wall_ms = cpu.cpu_ms = 250;
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h3 cpu-speed: its CPUs compute at 40 % of the median of all nodes"});
  nodes.erase(nodes.begin());
  CHECK(complaints_with_nodes(check_speeds(nodes)).size() == 1);  // the faster one is usual
}

TEST_CASE("cores that are built to be slow are compared with their own kind") {
  auto nodes = nodes_with(1);
  for (const int cpu : {2, 3}) nodes[0].cpus[cpu] = {cpu, "atom", 301, 300};
  CHECK(complaints_with_nodes(check_speeds(nodes)).empty());
  nodes[0].cpus[3].cpu_ms = nodes[0].cpus[3].wall_ms = 900;
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h1 cpu-speed: CPU 3: 33 % of the speed of this node's other CPUs"});
}

TEST_CASE("slow memory is named with its share of the median") {
  auto nodes = nodes_with(4);
  for (MemorySpeed& memory : nodes[2].memory) memory.gb_per_s = 16.4;
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h3 memory-bandwidth: 41 % of the median's memory bandwidth (16.4 GB/s of 40.0)"});
  nodes[2].memory[0].gb_per_s = 40;
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h3 memory-bandwidth: NUMA node 1: 41 % of the median's memory bandwidth (16.4 GB/s "
              "of 40.0)"});
}

TEST_CASE("memory that was measured with fewer threads is not compared") {
  auto nodes = nodes_with(3);
  for (MemorySpeed& memory : nodes[0].memory) memory = {memory.numa_node, 1, 1 << 29, 8};
  CHECK(complaints_with_nodes(check_speeds(nodes)).empty());
}

TEST_CASE("a node that could not be measured says why, and disturbs no comparison") {
  auto nodes = nodes_with(3);
  nodes[1] = {.node = "h2", .error = "no answer within 20 s"};
  CHECK(complaints_with_nodes(check_speeds(nodes)) ==
        Texts{"h2 bench: CPUs and memory could not be measured: no answer within 20 s"});
  CHECK(doubtful_nodes(nodes) == std::vector<std::size_t>{1});
}

// --- links ---

TEST_CASE("equal links are well, and the figures are shown") {
  for (const std::size_t hosts : {2U, 3U, 8U}) {
    const auto found = check_link_speeds(links_of(hosts));
    REQUIRE(found.size() == 2);
    CHECK(complaints_with_nodes(found).empty());
    CHECK(found[0].node == kAllNodes);
    CHECK(found[0].seen.starts_with("a round trip of 80 µs at the median and 80 µs at most; "));
    CHECK(found[1].seen.starts_with("10.0 Gbit/s at the median, from 10.0 Gbit/s to 10.0 Gbit/s"));
  }
  CHECK(check_link_speeds({}).empty());
}

TEST_CASE("a link that could not be measured is not counted among those that were") {
  auto measured = links_of(3);
  measured.links[1] = {.from = "h1", .to = "h3", .error = "it has not answered in time"};
  for (const Finding& finding : check_link_speeds(measured))
    if (finding.severity == Severity::kOk)
      CHECK_THAT(finding.seen, contains("; 2 of 3 pairs measured"));
    else
      CHECK(finding.subject == "bench");
}

TEST_CASE("a node that is slow on all its links is named, and not each of them") {
  for (const std::size_t hosts : {3U, 4U, 8U}) {
    INFO(hosts << " hosts");
    auto measured = links_of(hosts);
    limit_sending(measured, "h2", 10);
    const auto found = complaints_with_nodes(check_link_speeds(measured));
    REQUIRE(found.size() == 1);
    CHECK(found[0].starts_with("h2 link-bandwidth: 10 Mbit/s to "));
    CHECK(found[0].find(", 0.1 % of the median, which is 10.0 Gbit/s") != std::string::npos);
    CHECK(found[0].find("from") == std::string::npos);
    CHECK(doubtful_links(measured.links).size() == hosts - 1);
  }
}

TEST_CASE("two slow nodes are named, and none that only talks to both") {
  for (const std::size_t hosts : {5U, 8U}) {
    auto measured = links_of(hosts);
    limit_sending(measured, "h1", 100);
    limit_sending(measured, "h4", 100);
    const auto found = complaints_with_nodes(check_link_speeds(measured));
    REQUIRE(found.size() == 2);
    CHECK(found[0].starts_with("h1 "));
    CHECK(found[1].starts_with("h4 "));
  }
}

TEST_CASE("a slow pair is named as such, with the direction") {
  for (const std::size_t hosts : {3U, 4U, 8U}) {
    INFO(hosts << " hosts");
    auto measured = links_of(hosts);
    link(measured, "h2", "h3").there_mbit_per_s = 100;
    CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
          Texts{"h2 link-bandwidth: 100 Mbit/s to h3, 1 % of the median, which is 10.0 Gbit/s"});
    link(measured, "h2", "h3").back_mbit_per_s = 200;
    CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
          Texts{"h2 link-bandwidth: 100 Mbit/s to h3 and 200 Mbit/s from h3, 1 % of the median, "
                "which is 10.0 Gbit/s"});
  }
}

TEST_CASE("a node with a few slow links is not to blame for them") {
  auto measured = links_of(8);
  link(measured, "h2", "h3").back_mbit_per_s = 1000;
  link(measured, "h2", "h7").there_mbit_per_s = 2000;
  CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
        Texts{"h2 link-bandwidth: 1.0 Gbit/s from h3, 10 % of the median, which is 10.0 Gbit/s",
              "h2 link-bandwidth: 2.0 Gbit/s to h7, 20 % of the median, which is 10.0 Gbit/s"});
}

TEST_CASE("a node that answers late is named, and its bandwidth is not judged") {
  auto measured = links_of(4);
  for (LinkSpeed& each : measured.links)
    if (each.from == "h3" || each.to == "h3")
      each = {.from = each.from, .to = each.to, .rtt_us = 400'000};
  CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
        Texts{"h3 link-latency: round trips to h1, h2 and h4 take 400 ms, and 80 µs between "
              "others"});
}

TEST_CASE("without a third host only what no cluster has is found") {
  auto measured = links_of(2);
  measured.links[0].there_mbit_per_s = measured.links[0].back_mbit_per_s = 10;
  measured.links[0].rtt_us = 30'000;
  CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
        Texts{"h1 link-latency: round trips to h2 take 30 ms",
              "h1 link-bandwidth: 10 Mbit/s to h2 and 10 Mbit/s from h2"});
  measured.links[0].there_mbit_per_s = 1000;
  measured.links[0].back_mbit_per_s = 940;
  measured.links[0].rtt_us = 3000;
  CHECK(complaints_with_nodes(check_link_speeds(measured)).empty());
}

TEST_CASE("a link that could not be measured is named once") {
  auto measured = links_of(3);
  measured.links[0] = {.from = "h1", .to = "h2", .error = "no connection within 3 s"};
  CHECK(complaints_with_nodes(check_link_speeds(measured)) ==
        Texts{"h1 bench: the way to h2 could not be measured: no connection within 3 s"});
  CHECK(doubtful_links(measured.links) == std::vector<std::size_t>{0});
}

TEST_CASE("a noisy machine gives no alarm") {
  std::mt19937 random{4711};
  const auto noise = [&](double least, double most) {
    return std::uniform_real_distribution<>{least, most}(random);
  };
  for (int run = 0; run < 500; ++run) {
    Measurements measured = links_of(2 + static_cast<std::size_t>(run) % 15);
    for (LinkSpeed& each : measured.links) {
      each.rtt_us = noise(10, 900);
      each.there_mbit_per_s = noise(4, 11) * kGbit;
      each.back_mbit_per_s = noise(4, 11) * kGbit;
    }
    measured.nodes = nodes_with(1 + static_cast<std::size_t>(run) % 8);
    for (NodeSpeeds& node : measured.nodes) {
      for (CpuSpeed& cpu : node.cpus) cpu.wall_ms = (cpu.cpu_ms = noise(100, 170)) * noise(1, 1.3);
      for (MemorySpeed& memory : node.memory) memory.gb_per_s = noise(25, 40);
    }
    CHECK(complaints_with_nodes(check_measurements(measured)).empty());
  }
}

}  // namespace
}  // namespace ddprun
