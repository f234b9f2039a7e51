// ddprun topo on machines that are not here. machines/*.txt says what they are and what has to come
// out; what NVLinks join comes from NVIDIA's driver, and here from the description.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/machine/devices.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/numbers.hpp"
#include "launcher/topology/machine.hpp"
#include "launcher/topology/machine_files.hpp"
#include "launcher/topology/machine_text.hpp"
#include "tests/launcher/topology/recorded_machine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

constexpr const char* kMachines[] = {"dgx_a100", "dgx_h100", "pcie_server", "workstation"};

/// A recorded machine and what is read of it.
class KnownMachine {
 public:
  explicit KnownMachine(const std::string& name)
      : folder{std::filesystem::path{DDPRUN_MACHINE_TREES} / name},
        description{read_description(std::filesystem::path{DDPRUN_MACHINES} / (name + ".txt"))} {
    auto read = read_recorded_machine(folder);
    INFO(name);
    REQUIRE(read.has_value());
    machine = std::move(*read);
    add_driver_facts(machine, description.facts);
  }
  std::size_t place(const std::string& name) const {
    for (std::size_t i = 0; i < machine.devices.size(); ++i)
      if (machine.devices[i].name == name) return i;
    FAIL("there is no device " << name);
    return 0;
  }

  std::filesystem::path folder;  // nobody writes to it
  RecordedMachine description;
  Machine machine;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in{text};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// How many columns a line takes; all its characters are one wide.
std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TEST_CASE("the nearness of all devices of four known machines is as nvidia-smi topo -m has it") {
  for (const char* name : kMachines) {
    const KnownMachine recorded{name};
    REQUIRE(recorded.description.matrix.size() >= 4);
    CHECK(recorded.machine.devices.size() == recorded.description.matrix.size());
    for (const auto& [row, cells] : recorded.description.matrix)
      for (const auto& [column, word] : cells) {
        INFO(name << ": " << row << " to " << column);
        CHECK(to_string(nearness(recorded.machine, recorded.place(row), recorded.place(column))) ==
              word);
      }
  }
}

TEST_CASE("each worker of four known machines is put beside its GPU") {
  for (const char* name : kMachines) {
    INFO(name);
    const KnownMachine recorded{name};
    const WorkerGpus gpus = gpus_for_workers(recorded.machine);
    const auto places =
        place_on(recorded.machine, gpus, NumaBinding::kNode, static_cast<int>(gpus.names.size()));
    REQUIRE(places.has_value());
    std::string seen;
    for (std::size_t rank = 0; rank < places->size(); ++rank) {
      const WorkerPlace& place = (*places)[rank];
      seen += std::to_string(rank) + " " + place.gpu + " " +
              format_number_list(place.placement.cpus) + " " +
              format_number_list(place.placement.memory_nodes) + "\n";
    }
    CHECK(seen == recorded.description.workers);
  }
}

TEST_CASE("CPUs are read as --numa-binding of a job reads them") {
  for (const char* name : kMachines) {
    const KnownMachine recorded{name};
    std::vector<int> all;
    for (const Cpu& cpu : recorded.machine.cpus.cpus) all.push_back(cpu.id);
    const auto of_job = read_topology(recorded.folder, all);
    REQUIRE(of_job.has_value());
    CHECK(of_job->cpus == recorded.machine.usable.cpus);
  }
}

TEST_CASE("a driver's list of GPUs counts for workers as it does for a job") {
  const KnownMachine recorded{"dgx_h100"};
  const ScratchFolder with_driver;
  std::filesystem::create_directory_symlink(recorded.folder / "sys", with_driver / "sys");
  for (const char* bus_id : {"0000:43:00.0", "0000:DF:00.0"}) {
    const auto gpu = with_driver / "proc/driver/nvidia/gpus" / bus_id;
    std::filesystem::create_directories(gpu);
    std::ofstream{gpu / "information"} << "Model: \t\t NVIDIA H100 80GB HBM3\n";
  }
  const auto machine = read_recorded_machine(with_driver.path());
  REQUIRE(machine.has_value());
  const WorkerGpus gpus = gpus_for_workers(*machine);
  CHECK(gpus.names == std::vector<std::string>{"GPU1", "GPU7"});
  CHECK(gpus.nodes == gpu_numa_nodes(with_driver.path()));
  CHECK(gpus.nodes == std::vector<int>{0, 1});
  CHECK(machine->devices[1].model == "NVIDIA H100 80GB HBM3");
  CHECK(machine->devices[2].model == "10de:2330");
}

TEST_CASE("no line is wider than the terminal") {
  for (const char* name : kMachines)
    for (const int columns : {40, 80, 120}) {
      const KnownMachine recorded{name};
      const TopoStyle style{.columns = columns};
      const Machine& machine = recorded.machine;
      const auto places = place_on(machine, gpus_for_workers(machine), NumaBinding::kNode, 8);
      REQUIRE(places.has_value());
      const std::string text = machine_tree(machine, style) + nearness_table(machine, style) +
                               device_table(machine, style) + distance_table(machine, style) +
                               worker_table(*places, style);
      REQUIRE(lines_of(text).size() > 10);
      for (const std::string& line : lines_of(text)) {
        INFO(name << " in " << columns << " columns: " << line);
        CHECK(width(line) <= static_cast<std::size_t>(columns));
      }
    }
}

TEST_CASE("a matrix that is too wide comes in blocks, which together have every cell") {
  const KnownMachine recorded{"dgx_a100"};
  const auto words = [&](int columns) {
    std::size_t cells = 0;
    for (const std::string& line : lines_of(nearness_table(recorded.machine, {.columns = columns})))
      if (line.starts_with("GPU") || line.starts_with("NIC")) {
        std::istringstream in{line};
        std::string word;
        for (in >> word; in >> word;) ++cells;
      }
    return cells;
  };
  CHECK(words(200) == 18 * 18);
  CHECK(words(80) == 18 * 18);
  CHECK(words(40) == 18 * 18);
}

TEST_CASE("the tree has each device once, below those bridges that part it from others") {
  const KnownMachine recorded{"pcie_server"};
  const std::string tree = machine_tree(recorded.machine, {.columns = 120});
  CHECK(tree ==
        "machine: 2 sockets, 2 NUMA nodes, 64 cores, 128 CPUs\n"
        "├─ socket 0\n"
        "│  └─ node 0: CPUs 0-31,64-95 (32 cores, 1 shared cache), 252 GiB\n"
        "│     ├─ NIC0 0000:01:00.0 14e4:16d8 eno1\n"
        "│     ├─ PCI 0000:16\n"
        "│     │  ├─ GPU0 0000:17:00.0 10de:26b9\n"
        "│     │  └─ bridge 0000:16:04.0\n"
        "│     │     ├─ NIC1 0000:18:00.0 15b3:101d mlx5_0 enp24s0f0\n"
        "│     │     └─ NIC2 0000:18:00.1 15b3:101d mlx5_1 enp24s0f1\n"
        "│     └─ GPU1 0000:31:00.0 10de:26b9\n"
        "└─ socket 1\n"
        "   └─ node 1: CPUs 32-63,96-127 (32 cores, 1 shared cache), 252 GiB\n"
        "      └─ bridge 0000:b1:00.0\n"
        "         ├─ GPU2 0000:b3:00.0 10de:26b9\n"
        "         └─ GPU3 0000:b4:00.0 10de:26b9\n");
}

}  // namespace
}  // namespace ddprun
