#include "base/machine/devices.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

class DeviceFiles {
 protected:
  void write(const std::string& path, const std::string& text) const { scratch_.write(path, text); }
  void pci_device(const std::string& bus_id, const char* type, const char* vendor) const {
    write("sys/bus/pci/devices/" + bus_id + "/class", std::string{type} + "\n");
    write("sys/bus/pci/devices/" + bus_id + "/vendor", std::string{vendor} + "\n");
  }
  std::filesystem::path root() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_;
};

TEST_CASE_METHOD(DeviceFiles,
                 "GPUs are counted by their device files, or by the nodes that have SIMDs") {
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"})
    write(std::string{"dev/"} + name, "");
  write("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
  write("sys/class/kfd/kfd/topology/nodes/1/properties", "cpu_cores_count 0\nsimd_count 440\n");
  CHECK(count_gpus(root()) == 2);
  CHECK(openable_gpus(root()) == 2);
  std::filesystem::remove_all(root() / "dev");
  CHECK(count_gpus(root()) == 1);
  CHECK(openable_gpus(root()) == 0);
}

TEST_CASE_METHOD(DeviceFiles, "on the PCI bus are GPUs and network cards, without virtual ones") {
  pci_device("0000:17:00.0", "0x030200", "0x10de");
  pci_device("0000:17:00.1", "0x040300", "0x10de");  // its sound
  pci_device("0000:02:00.0", "0x020700", "0x15b3");
  pci_device("0000:02:00.1", "0x020700", "0x15b3");
  write("sys/bus/pci/devices/0000:02:00.1/physfn/vendor", "");
  pci_device("0000:03:00.0", "0x030000", "0x1a03");  // a management controller's screen
  const auto devices = pci_devices(root());
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].kind == PciDevice::Kind::kNic);
  CHECK(devices[1].bus_id == "0000:17:00.0");
  CHECK(devices[1].kind == PciDevice::Kind::kGpu);
  CHECK(devices[1].vendor == kNvidia);
}

TEST_CASE("a bus id of the driver is spelled as the kernel spells it") {
  CHECK(plain_bus_id("00000000:0F:00.0") == "0000:0f:00.0");
  CHECK(plain_bus_id("0000000A:0F:00.0") == "000a:0f:00.0");
  CHECK(plain_bus_id("00010000:0F:00.0") == "00010000:0f:00.0");
}

}  // namespace
}  // namespace ddprun
