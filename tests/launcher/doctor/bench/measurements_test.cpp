#include "launcher/doctor/bench/measurements.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

const NodeSpeeds kNode{.node = "h1",
                       .cpus = {{.cpu = 0, .wall_ms = 100, .cpu_ms = 90},
                                {.cpu = 1, .kind = "atom", .wall_ms = 200, .cpu_ms = 190}},
                       .memory = {{.numa_node = 0, .threads = 2, .bytes = 1 << 20, .gb_per_s = 9}}};
const LinkSpeed kLink{
    .from = "h1", .to = "h2", .rtt_us = 80.5, .there_mbit_per_s = 9400, .back_mbit_per_s = 9300};

TEST_CASE("of two measurements of a node each part that is better stays") {
  NodeSpeeds again = kNode;
  again.cpus[0] = {.cpu = 0, .wall_ms = 95, .cpu_ms = 94};
  again.cpus[1].wall_ms = 300;
  again.memory[0].gb_per_s = 12;
  for (const NodeSpeeds& best : {better_of(kNode, again), better_of(again, kNode)}) {
    CHECK(best.cpus[0].wall_ms == 95);
    CHECK(best.cpus[0].cpu_ms == 94);
    CHECK(best.cpus[1].wall_ms == 200);
    CHECK(best.memory[0].gb_per_s == 12);
  }
}

TEST_CASE("of two measurements of a link each part that is better stays") {
  LinkSpeed again = kLink;
  again.rtt_us = 90;
  again.there_mbit_per_s = 9500;
  again.back_mbit_per_s.reset();
  const LinkSpeed best = better_of(kLink, again);
  CHECK(best.rtt_us == 80.5);
  CHECK(best.there_mbit_per_s == 9500);
  CHECK(best.back_mbit_per_s == 9300);
  CHECK(better_of({.from = "h1", .to = "h2"}, kLink).rtt_us == 80.5);
}

TEST_CASE("an error gives way to figures, and a newer error to none") {
  const NodeSpeeds failed{.node = "h1", .error = "late"};
  CHECK(better_of(kNode, failed).error.empty());
  CHECK(better_of(failed, kNode).error.empty());
  CHECK(better_of(failed, kNode).cpus.size() == 2);
  CHECK(better_of(failed, {.node = "h1", .error = "refused"}).error == "refused");
  const LinkSpeed cut{.from = "h1", .to = "h2", .error = "late"};
  CHECK(better_of(kLink, cut).error.empty());
  CHECK(better_of(cut, kLink).there_mbit_per_s == 9400);
}

TEST_CASE("measurements are read as they were written") {
  const auto node = parse_node_speeds(to_line(kNode));
  REQUIRE(node.has_value());
  CHECK(to_json(*node) == to_json(kNode));
  CHECK(node->cpus[1].kind == "atom");
  CHECK(node->memory[0].bytes == 1 << 20);
  const auto link = parse_link_speed(to_line(kLink));
  REQUIRE(link.has_value());
  CHECK(to_json(*link) == to_json(kLink));
  const auto late = parse_link_speed(to_line(LinkSpeed{.from = "a", .to = "b", .error = "late"}));
  REQUIRE(late.has_value());
  CHECK(late->error == "late");
  CHECK_FALSE(late->rtt_us);
}

TEST_CASE("what is no measurement is refused") {
  for (const char* text :
       {"", "[]", "{}", R"({"node":"h1","cpus":[{"cpu":0}],"memory":[]})",
        R"({"node":"h1","cpus":[{"cpu":0,"wall_ms":-1,"cpu_ms":1}],"memory":[]})",
        R"({"node":"h1","cpus":[{"cpu":1e300,"wall_ms":1,"cpu_ms":1}],"memory":[]})",
        R"({"node":"h1","cpus":[{"cpu":4294967296,"wall_ms":1,"cpu_ms":1}],"memory":[]})",
        R"({"node":"h1","cpus":[{"cpu":-1,"wall_ms":1,"cpu_ms":1}],"memory":[]})",
        R"({"node":"h1","cpus":[{"cpu":0,"wall_ms":1e300,"cpu_ms":1}],"memory":[]})",
        R"({"node":"h1","cpus":[3],"memory":[]})", R"({"node":"h1","cpus":{},"memory":[]})",
        R"({"node":3,"cpus":[],"memory":[]})", R"({"node":"h1","cpus":[],"memory":[],"error":1})",
        R"({"from":"a","to":"b","rtt_us":"1"})", R"({"from":"a","to":"b","rtt_us":1e16})"}) {
    INFO(text);
    CHECK_FALSE(parse_node_speeds(text).has_value());
    CHECK_FALSE(parse_link_speed(text).has_value());
  }
}

}  // namespace
}  // namespace ddprun
