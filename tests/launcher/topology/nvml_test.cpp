#include <cstdlib>

#include "base/machine/load_meter.hpp"
#include "launcher/topology/driver_facts.hpp"
#include "launcher/topology/machine_files.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Lets the library that stands in for NVIDIA's fail in its own way.
class FakeNvml {
 public:
  ~FakeNvml() { ::unsetenv("FAKE_NVML"); }
  void be(const char* mood) const { ::setenv("FAKE_NVML", mood, 1); }
  Result<GpusReading> asked(std::chrono::milliseconds timeout = 60s) const {
    return ask_driver_within(timeout, DDPRUN_FAKE_NVML);
  }
};

TEST_CASE_METHOD(FakeNvml, "the driver tells of GPUs, their NVLinks and the ways between them") {
  const auto facts = asked();
  REQUIRE(facts.has_value());
  Machine machine;
  machine.nodes.resize(2);
  add_driver_facts(machine, *facts);
  REQUIRE(machine.devices.size() == 4);
  CHECK(machine.devices[0].bus_id == "0000:1a:00.0");
  CHECK(machine.devices[0].model == "NVIDIA Test");
  CHECK(to_string(nearness(machine, 0, 1)) == "NV4");
  CHECK(to_string(nearness(machine, 0, 2)) == "SYS");
  CHECK(to_string(nearness(machine, 2, 3)) == "NV6");
  CHECK(machine.gpu_links.at({"0000:1a:00.0", "0000:1b:00.0"}).told == Way::kPxb);
}

TEST_CASE_METHOD(FakeNvml, "a driver that fails, hangs or crashes costs a sentence") {
  be("fail");
  const auto failed = asked();
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "Driver Not Loaded");
  be("crash");
  const auto crashed = asked();
  REQUIRE_FALSE(crashed.has_value());
  CHECK_THAT(crashed.error().message, contains("crashed"));
  be("hang");
  const auto hung = asked(50ms);
  REQUIRE_FALSE(hung.has_value());
  CHECK(hung.error().kind == Error::Kind::kTimeout);
}

TEST_CASE_METHOD(FakeNvml, "the driver tells how busy the GPUs are, or nothing of them is known") {
  const NodeLoad load = LoadMeter{"/", DDPRUN_FAKE_NVML}.measure();
  CHECK(load.gpus == 4);
  CHECK(load.gpu_percent == 75);
  CHECK(load.gpu_memory_used_bytes == 4'000'000);
  CHECK(load.gpu_memory_bytes == 320'000'000'000);
  be("fail");
  CHECK(LoadMeter{"/", DDPRUN_FAKE_NVML}.measure().gpus == -1);
}

TEST_CASE("a machine without NVIDIA's driver has no NVML") {
  const auto facts = ask_driver_within(60s, "libno-such-library.so.1");
  REQUIRE_FALSE(facts.has_value());
  CHECK_THAT(facts.error().message, contains("libno-such-library"));
}

}  // namespace
}  // namespace ddprun
