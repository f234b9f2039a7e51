#include <fstream>

#include "base/machine/gpu_fields.hpp"
#include "launcher/topology/driver_facts.hpp"
#include "launcher/topology/machine.hpp"
#include "launcher/topology/machine_files.hpp"
#include "launcher/topology/machine_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

Device device(const std::string& bus_id, std::vector<std::string> path,
              std::optional<int> node = 0) {
  return {.bus_id = bus_id, .model = "10de:2330", .path = std::move(path), .numa_node = node};
}

Machine machine_of(std::vector<Device> devices, int nodes = 1) {
  Machine machine;
  for (int id = 0; id < nodes; ++id) {
    machine.cpus.cpus.push_back(
        {.id = id, .core = id, .package = id, .numa_node = id, .cache = id});
    machine.nodes.push_back({.id = id, .cpus = {id}});
  }
  machine.usable = machine.cpus;
  machine.devices = std::move(devices);
  name_devices(machine);
  return machine;
}

GpuReading gpu(const std::string& bus_id, const std::string& model, int links_to_switches,
               std::vector<std::string> peers = {}) {
  return {.bus_id = bus_id,
          .model = model,
          .links_to_switches = links_to_switches,
          .peers = std::move(peers)};
}

std::string near(const Machine& machine) { return to_string(nearness(machine, 0, 1)); }

TEST_CASE("devices whose node is not known are far from each other, unless there is one node") {
  const std::vector<Device> unknown{device("0000:01:00.0", {"pci0000:00"}, std::nullopt),
                                    device("0000:81:00.0", {"pci0000:80"}, std::nullopt)};
  CHECK(near(machine_of(unknown, 2)) == "SYS");
  CHECK(near(machine_of(unknown, 1)) == "NODE");
}

TEST_CASE("two functions of one card are as near as can be by PCI") {
  CHECK(near(machine_of({device("0000:18:00.0", {"pci0000:16", "0000:16:04.0"}),
                         device("0000:18:00.1", {"pci0000:16", "0000:16:04.0"})})) == "PIX");
}

TEST_CASE("NVLinks count from both ends, and by the GPU that has fewer to a switch") {
  Machine machine =
      machine_of({device("0000:01:00.0", {"pci0000:00"}), device("0000:02:00.0", {"pci0000:00"})});
  SECTION("direct") {
    add_driver_facts(machine,
                     {.gpus = {gpu("0000:01:00.0", "A", 0, {"0000:02:00.0", "0000:02:00.0"}),
                               gpu("0000:02:00.0", "B", 0, {"0000:01:00.0"})}});
    CHECK(near(machine) == "NV2");
    CHECK(machine.devices[0].model == "A");
  }
  SECTION("by a switch") {
    add_driver_facts(machine, {.gpus = {gpu("0000:01:00.0", "", 12), gpu("0000:02:00.0", "", 10)}});
    CHECK(near(machine) == "NV10");
  }
  SECTION("none") {
    add_driver_facts(machine, {.gpus = {gpu("0000:01:00.0", "", 0), gpu("0000:02:00.0", "", 18)},
                               .ways = {{"0000:01:00.0", "0000:02:00.0", "SYS"}}});
    CHECK(near(machine) == "PHB");  // where the kernel describes the way, the driver is not asked
  }
}

TEST_CASE("the driver tells of GPUs that the kernel does not show") {
  Machine machine = machine_of({});
  add_driver_facts(machine,
                   {.gpus = {gpu("0000:01:00.0", "NVIDIA\tA100\n", 0), gpu("0000:02:00.0", "A", 0)},
                    .ways = {{"0000:02:00.0", "0000:01:00.0", "PXB"}}});
  REQUIRE(machine.devices.size() == 2);
  CHECK(near(machine) == "PXB");
  CHECK(machine.devices[0].model == "NVIDIA A100\\x0a");
}

TEST_CASE("the driver's facts pass a pipe, and a text that breaks off is an error") {
  const GpusReading facts{
      .gpus = {gpu("0000:01:00.0", "NVIDIA A100", 2, {"0000:02:00.0"}), gpu("0000:02:00.0", "", 0)},
      .ways = {{"0000:01:00.0", "0000:02:00.0", "PIX"}}};
  const std::string text = fields::to_text(facts);
  const auto again = parse_driver_facts(text);
  REQUIRE(again.has_value());
  CHECK(fields::to_text(*again) == text);
  CHECK(again->gpus[0].model == "NVIDIA A100");
  CHECK(again->gpus[0].peers == std::vector<std::string>{"0000:02:00.0"});
  for (std::size_t cut = 0; cut < text.size(); ++cut)
    CHECK_FALSE(parse_driver_facts(std::string_view{text}.substr(0, cut)).has_value());
  const auto failed = parse_driver_facts(fields::to_text(GpusReading{.error = "a\nb"}));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "a\\x0ab");
}

TEST_CASE("what a device says of itself moves no cursor") {
  Machine machine = machine_of({device("0000:01:00.0", {"pci0000:00"})});
  machine.devices[0].model = "\x1b[2J\nGPU9";
  for (const std::string& text :
       {machine_tree(machine, {}), device_table(machine, {}), nearness_table(machine, {})}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK_THAT(text, !contains("\nGPU9"));
  }
}

TEST_CASE("color is only where it is asked for") {
  const Machine machine = machine_of({device("0000:01:00.0", {"pci0000:00"})});
  CHECK(nearness_table(machine, {.color = true}).find("\x1b[") != std::string::npos);
  CHECK(nearness_table(machine, {.color = false}).find('\x1b') == std::string::npos);
}

TEST_CASE("a folder without a copy of /sys, or with nonsense in it, is refused") {
  ScratchFolder folder;
  const auto nothing = read_recorded_machine(folder.path());
  REQUIRE_FALSE(nothing.has_value());
  CHECK_THAT(nothing.error().message, contains("has no folder sys"));
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream{folder / name, std::ios::binary} << text;
  };
  write("sys/devices/system/cpu/online", "0-99999");
  CHECK_FALSE(read_recorded_machine(folder.path()).has_value());
  write("sys/devices/system/cpu/online", "0");
  write("sys/devices/system/cpu/cpu0/topology/core_id", "0");
  write("sys/devices/system/cpu/cpu0/topology/physical_package_id", std::string(1 << 20, '1'));
  CHECK_FALSE(read_recorded_machine(folder.path()).has_value());
  write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
  CHECK(read_recorded_machine(folder.path()).has_value());
}

}  // namespace
}  // namespace ddprun
