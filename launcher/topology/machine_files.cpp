#include "launcher/topology/machine_files.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/machine/devices.hpp"
#include "base/machine/gpu_fields.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/numbers.hpp"
#include "base/process/query_process.hpp"
#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

struct Roots {
  fs::path root;
  bool recorded = false;
};

/// Returns the number of bytes in the line "Node 0 MemTotal:  131072 kB"; 0: there is none.
std::uint64_t node_bytes(const fs::path& meminfo) {
  const std::string line = line_of(meminfo);
  const std::size_t colon = line.find("MemTotal:");
  if (colon == std::string::npos) return 0;
  std::string_view rest = std::string_view{line}.substr(colon + 9);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto kilobytes = parse_number<std::uint64_t>(rest.substr(0, rest.find(' ')));
  return kilobytes.value_or(0) * 1024;
}

/// Reads "10 12 32".
std::vector<int> distances(const std::string& line) {
  std::vector<int> all;
  for (std::size_t at = 0; at < line.size() && all.size() < kNumaNodesMax;) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (const auto number = parse_number<int>(std::string_view{line}.substr(at, end - at)))
      all.push_back(*number);
    at = end + 1;
  }
  return all;
}

NumaNode only_node(const CpuTopology& cpus) {
  NumaNode node;
  for (const Cpu& cpu : cpus.cpus) node.cpus.push_back(cpu.id);
  return node;
}

Result<std::vector<NumaNode>> read_nodes(const fs::path& folder, const CpuTopology& cpus) {
  std::vector<NumaNode> nodes;
  for (const std::string& name : names_in(folder)) {
    const auto id = number_after("node", name);
    if (!id || *id < 0 || nodes.size() >= kNumaNodesMax) continue;
    auto of_node = read_cpu_list(folder / name / "cpulist");
    if (!of_node) return of_node.error();
    nodes.push_back({*id, std::move(*of_node), node_bytes(folder / name / "meminfo"),
                     distances(line_of(folder / name / "distance"))});
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  if (nodes.empty()) nodes.push_back(only_node(cpus));
  return nodes;
}

/// The bridges above a device are the folders above its own, which the link in bus/pci leads to:
/// ../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0. What is no PCI folder is left out, such
/// as those of Intel's VMD.
std::vector<std::string> path_of(const fs::path& link) {
  std::error_code unknown;
  const fs::path target = fs::read_symlink(link, unknown);
  std::vector<std::string> path;
  for (const fs::path& part : target.parent_path())
    if (is_pci_name(part.string()) && path.size() < kBridgesMax) path.push_back(part.string());
  return path;
}

/// The names of a card's interfaces. Those of a virtio card are one folder further down.
std::vector<std::string> interfaces_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::vector<fs::path> folders{folder};
  for (const std::string& name : names_in(folder))
    if (name.starts_with("virtio")) folders.push_back(folder / name);
  for (const char* kind : {"infiniband", "net"})
    for (const fs::path& place : folders)
      for (std::string& name : names_in(place / kind))
        if (names.size() < kInterfacesMax) names.push_back(std::move(name));
  return names;
}

/// "NVIDIA H100" of the line "Model:  NVIDIA H100" that the driver writes, or "10de:2330".
std::string model_of(const Roots& roots, const std::string& bus_id, const std::string& vendor,
                     const std::string& device) {
  const std::string line = line_of(roots.root / "proc/driver/nvidia/gpus" / bus_id / "information");
  if (line.starts_with("Model:")) {
    const std::size_t begin = line.find_first_not_of(" \t", 6);
    if (begin != std::string::npos) return line.substr(begin);
  }
  const auto digits = [](const std::string& text) {
    return text.starts_with("0x") ? text.substr(2) : "?";
  };
  return digits(vendor) + ":" + digits(device);
}

/// Finds out which GPUs a job would see, as gpu_numa_nodes() does.
class DriverGpus {
 public:
  explicit DriverGpus(const Roots& roots)
      : known_{is_there(roots.root / "proc/driver/nvidia/gpus") || !roots.recorded},
        listed_{driver_gpus(roots.root)} {}
  bool has(const std::string& bus_id, const fs::path& folder) const {
    if (known_) return std::ranges::binary_search(listed_, bus_id);
    std::error_code unknown;
    return fs::read_symlink(folder / "driver", unknown).filename() == "nvidia";
  }

 private:
  bool known_;
  std::vector<std::string> listed_;
};

Device read_device(const Roots& roots, const PciDevice& on_bus, const DriverGpus& driver) {
  const fs::path folder = roots.root / "sys/bus/pci/devices" / on_bus.bus_id;
  Device device{.kind = on_bus.kind,
                .bus_id = on_bus.bus_id,
                .model = model_of(roots, on_bus.bus_id, on_bus.vendor, line_of(folder / "device")),
                .path = path_of(folder)};
  const auto node = read_number(folder / "numa_node");
  if (node && *node >= 0) device.numa_node = *node;
  auto cpus = read_cpu_list(folder / "local_cpulist");
  if (cpus) device.cpus = std::move(*cpus);
  if (device.kind == Device::Kind::kNic) device.interfaces = interfaces_of(folder);
  device.for_workers = device.kind == Device::Kind::kGpu && on_bus.vendor == kNvidia &&
                       driver.has(device.bus_id, folder);
  return device;
}

Result<std::vector<Device>> read_devices(const Roots& roots) {
  const DriverGpus driver{roots};
  const std::vector<PciDevice> on_bus = pci_devices(roots.root);
  if (on_bus.size() > kDevicesMax)
    return Error{Error::Kind::kInvalid, (roots.root / "sys/bus/pci/devices").string() +
                                            " has more than " + std::to_string(kDevicesMax) +
                                            " GPUs and network cards"};
  std::vector<Device> devices;
  devices.reserve(on_bus.size());
  for (const PciDevice& device : on_bus) devices.push_back(read_device(roots, device, driver));
  return devices;
}

Result<Machine> read_machine(const Roots& roots) {
  auto cpus = read_topology(roots.root, online_cpus(roots.root));
  if (!cpus) return cpus.error();
  auto usable = roots.recorded ? *cpus : read_topology(roots.root, allowed_cpus());
  if (!usable) return usable.error();
  auto nodes = read_nodes(roots.root / "sys/devices/system/node", *cpus);
  if (!nodes) return nodes.error();
  auto devices = read_devices(roots);
  if (!devices) return devices.error();
  Machine machine{.cpus = std::move(*cpus),
                  .usable = std::move(*usable),
                  .nodes = std::move(*nodes),
                  .devices = std::move(*devices),
                  .gpu_links = {}};
  name_devices(machine);
  return machine;
}

}  // namespace

Result<Machine> read_this_machine() { return read_machine({"/"}); }

Result<Machine> read_recorded_machine(const fs::path& folder) {
  if (!is_there(folder / "sys"))
    return invalid("'" + folder.string() +
                   "' has no folder sys: expected a folder such as hwloc-gather-topology makes");
  return read_machine({folder, true});
}

Result<GpusReading> ask_driver_within(std::chrono::milliseconds timeout,
                                      const std::string& library) {
  constexpr std::size_t kAnswerBytesMax = 1024 * 1024;
  auto child =
      QueryProcess::start(timeout, [&] { return fields::to_text(ask_gpu_links(library)); });
  if (!child.started())
    return Error{Error::Kind::kUnavailable, "no process could be started to ask it"};
  const auto text = child.answer(kAnswerBytesMax);
  if (!text && text.error().kind == Error::Kind::kTimeout)
    return Error{Error::Kind::kTimeout,
                 "it has not answered within " + std::to_string(timeout.count() / 1000) + " s"};
  return parse_driver_facts(text ? *text : std::string{});
}

}  // namespace ddprun
