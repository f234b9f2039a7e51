#include "base/machine/machine_topology.hpp"

#include <numeric>
#include <string>

#include "base/machine/devices.hpp"
#include "base/numbers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using Ids = std::vector<int>;

Ids up_to(int last) {
  Ids ids(static_cast<std::size_t>(last) + 1);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// Writes what the kernel would show of a machine.
class FakeMachine {
 public:
  void write(const std::string& name, const std::string& text) const {
    folder_.write(name, text + "\n");
  }
  void cpu(int id, int core_id, int package) {
    write(cpu_folder(id) + "topology/core_id", std::to_string(core_id));
    write(cpu_folder(id) + "topology/physical_package_id", std::to_string(package));
  }
  void cache(int id, int index, int level, const std::string& sharers) {
    const std::string folder = cpu_folder(id) + "cache/index" + std::to_string(index);
    write(folder + "/level", std::to_string(level));
    write(folder + "/shared_cpu_list", sharers);
  }
  void node(int id, const std::string& cpus) {
    write("sys/devices/system/node/node" + std::to_string(id) + "/cpulist", cpus);
  }
  void gpu(const std::string& bus_id) {
    write("proc/driver/nvidia/gpus/" + bus_id + "/information", "Model: \t\t NVIDIA H200");
  }
  void pci_device(const std::string& bus_id, int node) {
    write("sys/bus/pci/devices/" + bus_id + "/numa_node", std::to_string(node));
  }

  /// 2 packages x 2 nodes x 4 cores x 2 threads; the second threads are CPUs 16 to 31.
  void be_large_server() {
    for (int id = 0; id < 32; ++id) {
      const int core = id % 16;
      cpu(id, core % 8, core / 8);  // core ids start over in each package
      cache(id, 0, 1, format_number_list({core, core + 16}));
      cache(id, 3, 3, core < 8 ? "0-7,16-23" : "8-15,24-31");
    }
    for (int id = 0; id < 4; ++id)
      node(id, format_number_list({4 * id, 4 * id + 1, 4 * id + 2, 4 * id + 3, 4 * id + 16,
                                   4 * id + 17, 4 * id + 18, 4 * id + 19}));
    write("sys/devices/system/node/online", "0-3");
    write("sys/devices/system/cpu/online", "0-31");
  }

  Result<CpuTopology> topology(const Ids& allowed) const {
    return read_topology(folder_.path(), allowed);
  }
  Ids gpu_nodes() const { return gpu_numa_nodes(folder_.path()); }

  static std::string cpu_folder(int id) {
    return "sys/devices/system/cpu/cpu" + std::to_string(id) + "/";
  }

 private:
  ScratchFolder folder_;
};

TEST_CASE_METHOD(FakeMachine, "a machine with neither nodes nor caches is one node and one group") {
  cpu(0, 0, 0);
  cpu(1, 1, 0);
  const auto read = topology({0, 1});
  REQUIRE(read.has_value());
  CHECK(read->cpus == std::vector<Cpu>{{.id = 0, .core = 0}, {.id = 1, .core = 1}});
}

TEST_CASE_METHOD(FakeMachine, "without caches the package is the group") {
  for (int id = 0; id < 4; ++id) cpu(id, id % 2, id / 2);
  const auto read = topology(up_to(3));
  REQUIRE(read.has_value());
  CHECK(read->cpus[0].cache == read->cpus[1].cache);
  CHECK(read->cpus[1].cache != read->cpus[2].cache);
  CHECK(read->cpus[2].cache == read->cpus[3].cache);
}

TEST_CASE_METHOD(FakeMachine, "a large server is read with its packages, nodes, cores and caches") {
  be_large_server();
  const auto read = topology(up_to(31));
  REQUIRE(read.has_value());
  REQUIRE(read->cpus.size() == 32);
  CHECK(read->cpus[0] == Cpu{.id = 0, .core = 0, .package = 0, .numa_node = 0, .cache = 0});
  CHECK(read->cpus[9] == Cpu{.id = 9, .core = 9, .package = 1, .numa_node = 2, .cache = 8});
  CHECK(read->cpus[25] == Cpu{.id = 25, .core = 9, .package = 1, .numa_node = 2, .cache = 8});
  CHECK(read->cpus[31] == Cpu{.id = 31, .core = 15, .package = 1, .numa_node = 3, .cache = 8});
}

TEST_CASE_METHOD(FakeMachine, "CPUs that are not allowed or not online are left out") {
  be_large_server();
  write("sys/devices/system/cpu/online", "0-29");
  const auto read = topology({31, 17, 5, 5, 2, 200});
  REQUIRE(read.has_value());
  REQUIRE(read->cpus.size() == 3);
  CHECK(read->cpus[0].id == 2);
  CHECK(read->cpus[1].id == 5);
  CHECK(read->cpus[2].id == 17);
}

TEST_CASE_METHOD(FakeMachine, "hyperthreads stay one core when the mask takes the first one away") {
  be_large_server();
  const auto read = topology({1, 16, 17});
  REQUIRE(read.has_value());
  CHECK(read->cpus[0].core == read->cpus[2].core);
  CHECK(read->cpus[0].core != read->cpus[1].core);
}

TEST_CASE_METHOD(FakeMachine, "cores with the same core_id in one package are told apart") {
  for (int id = 0; id < 4; ++id) {
    cpu(id, 0, 0);  // as in clusters or dies that each count from 0
    write(cpu_folder(id) + "topology/core_cpus_list", id < 2 ? "0-1" : "2-3");
  }
  const auto read = topology(up_to(3));
  REQUIRE(read.has_value());
  CHECK(read->cpus[1].core == 0);
  CHECK(read->cpus[2].core == 2);
}

TEST_CASE_METHOD(FakeMachine, "the last level decides which CPUs share a cache") {
  for (int id = 0; id < 16; ++id) {
    cpu(id, id, 0);
    const int first = id / 4 * 4;
    cache(id, 0, 1, std::to_string(id));
    cache(id, 2, 3, format_number_list({first, first + 1, first + 2, first + 3}));
    cache(id, 3, 2, std::to_string(id));
  }
  const auto read = topology(up_to(15));
  REQUIRE(read.has_value());
  for (const Cpu& cpu : read->cpus) CHECK(cpu.cache == cpu.id / 4 * 4);
}

TEST_CASE_METHOD(FakeMachine, "a CPU that is not described is an error that names the file") {
  cpu(0, 0, 0);
  const auto read = topology({0, 1});
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().kind == Error::Kind::kNotFound);
  CHECK_THAT(read.error().message, contains("cpu1/topology/physical_package_id"));
}

TEST_CASE_METHOD(FakeMachine, "a file that makes no sense is an error that names it") {
  cpu(0, 0, 0);
  node(0, "zero");
  const auto read = topology({0});
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().kind == Error::Kind::kInvalid);
  CHECK_THAT(read.error().message, contains("node0/cpulist: 'zero'"));
}

TEST_CASE_METHOD(FakeMachine, "a topology without any CPU is an error") {
  be_large_server();
  CHECK_FALSE(topology({}).has_value());
  CHECK_FALSE(topology({32}).has_value());
}

TEST_CASE("this process may use some CPUs, each named once") {
  const Ids allowed = allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  CHECK(parse_cpu_list(format_number_list(allowed)).value() == allowed);
}

TEST_CASE_METHOD(FakeMachine, "a machine without GPUs has no nodes of GPUs") {
  CHECK(gpu_nodes().empty());
}

TEST_CASE_METHOD(FakeMachine, "GPUs are listed in PCI bus order with their nodes") {
  gpu("0000:DB:00.0");
  gpu("0000:1b:00.0");
  gpu("0000:9a:00.0");
  pci_device("0000:1b:00.0", 0);
  pci_device("0000:9a:00.0", 1);
  pci_device("0000:db:00.0", 3);
  pci_device("0000:05:00.0", 2);  // not a GPU
  CHECK(gpu_nodes() == Ids{0, 1, 3});
}

TEST_CASE_METHOD(FakeMachine, "a GPU whose node is not known counts as on node 0") {
  gpu("0000:01:00.0");
  gpu("0000:02:00.0");
  pci_device("0000:01:00.0", -1);
  CHECK(gpu_nodes() == Ids{0, 0});
}

}  // namespace
}  // namespace ddprun
