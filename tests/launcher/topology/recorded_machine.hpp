// Machines that tests know: short descriptions, and the kernel's files that such a machine would
// show. The descriptions are in machines/*.txt and say where they come from.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

/// A line of the description that begins with "node".
struct RecordedNode {
  int id = 0;
  int package = 0;
  std::vector<int> cpus;  // with two threads the second half are the second threads of the cores
  int threads = 1;
  int cores_per_cache = 1;
  long megabytes = 0;
  std::string distances;  // as the kernel writes them
};

/// A line that begins with "gpu", "nic" or "other".
struct RecordedDevice {
  std::string bus_id, vendor, device, type;  // type: the PCI class, 6 digits
  int node = -1;
  std::vector<std::string> path, interfaces;
  std::string driver;
};

struct RecordedMachine {
  std::vector<RecordedNode> nodes;
  std::vector<RecordedDevice> devices;
  GpusReading facts;
  std::map<std::string, std::map<std::string, std::string>> matrix;  // by names of devices
  std::string workers;  // a line for each worker of --numa-binding node, one for each GPU
};

/// Reads a description. Throws std::runtime_error with the line that it does not understand.
RecordedMachine read_description(const std::filesystem::path& file);

/// Writes sys/ of the machine, below `folder`: what ddprun reads, and what hwloc needs besides.
void write_files(const RecordedMachine& machine, const std::filesystem::path& folder);

}  // namespace ddprun
