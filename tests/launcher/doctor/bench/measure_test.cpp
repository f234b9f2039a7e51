#include "launcher/doctor/ask/links.hpp"
#include "launcher/doctor/bench/measure_node.hpp"
#include "launcher/doctor/bench/work.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a node's CPUs and memory have figures that can be") {
  const NodeSpeeds speeds = measure_node("here", {.free_bytes = 1LL << 30});
  CHECK(speeds.node == "here");
  CHECK(speeds.error.empty());
  REQUIRE_FALSE(speeds.cpus.empty());
  for (const CpuSpeed& cpu : speeds.cpus) {
    CHECK(cpu.cpu_ms > 0);
    CHECK(cpu.wall_ms > 0.9 * cpu.cpu_ms);
  }
  REQUIRE_FALSE(speeds.memory.empty());
  for (const MemorySpeed& memory : speeds.memory) {
    CHECK(memory.bytes <= 1 << 27);  // an eighth of what is free
    CHECK(memory.gb_per_s > 0);
  }
}

TEST_CASE("memory is left alone when little of it is free") {
  CHECK(measure_node("here", {.free_bytes = 1LL << 28}).memory.empty());
}

TEST_CASE("a link is measured in both directions") {
  const auto server = start_link_server("token");
  REQUIRE(server.has_value());
  const LinkSpeed speed = measure_link("a", {"b", "127.0.0.1", server->port}, "token");
  CHECK(speed.error.empty());
  CHECK(speed.from == "a");
  CHECK(speed.to == "b");
  REQUIRE(speed.rtt_us);
  CHECK(*speed.rtt_us > 0);
  REQUIRE(speed.there_mbit_per_s);
  REQUIRE(speed.back_mbit_per_s);
  CHECK(*speed.there_mbit_per_s > 0);
  CHECK(*speed.back_mbit_per_s > 0);
}

TEST_CASE("a listener sends nothing to those without its token, and goes on") {
  const auto server = start_link_server("token");
  REQUIRE(server.has_value());
  const LinkSpeed refused = measure_link("a", {"b", "127.0.0.1", server->port}, "other");
  CHECK_FALSE(refused.error.empty());
  CHECK_FALSE(refused.rtt_us);
  CHECK(measure_link("a", {"b", "127.0.0.1", server->port}, "token").error.empty());
}

TEST_CASE("if no process listens, the error says so") {
  CHECK(measure_link("a", {"b", "127.0.0.1", 1}, "token").error == "Connection refused");
  CHECK(measure_link("a", {"b", "nowhere", 1}, "token").error == "it has told no address");
}

TEST_CASE("the work computes what it says") {
  double a[3] = {}, b[3] = {1, 2, 3}, c[3] = {10, 20, 30};
  triad(a, b, c, 0.5, 3);
  CHECK(a[0] == 6);
  CHECK(a[2] == 18);
  MatrixProduct product;
  const float first = product.compute();
  CHECK(first > 0);
  CHECK(product.compute() == first);  // none of it is left from the time before
}

}  // namespace
}  // namespace ddprun
