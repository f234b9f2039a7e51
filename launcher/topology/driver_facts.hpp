// What NVIDIA's driver says of its GPUs, what it adds to a machine, and how it goes through a
// pipe between two processes of ddprun. Pure; nvml.hpp asks the driver.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

/// A GPU as the driver knows it.
struct DriverGpu {
  std::string bus_id;              // as in Device
  std::string model;               // "NVIDIA H100 80GB HBM3"
  int links_to_switches = 0;       // its NVLinks that end at an NVSwitch
  std::vector<std::string> peers;  // bus ids at the ends of its other NVLinks, one for each link
};

struct DriverFacts {
  std::vector<DriverGpu> gpus;
  std::map<GpuPair, Way> ways;  // by PCI
};

/// Adds to `machine` what the driver knows: models, NVLinks, ways, and GPUs that the kernel does
/// not show on its PCI bus. An NVSwitch joins all GPUs that have links to switches, each with as
/// many links as the GPU that has fewer of them.
void add_driver_facts(Machine& machine, const DriverFacts& facts);

// The driver's facts as lines, for a pipe between two processes of ddprun.

inline constexpr std::size_t kDriverTextBytesMax = 1024 * 1024;

/// Lines of words:
///
///   gpu BUS_ID LINKS_TO_SWITCHES MODEL...
///   peer BUS_ID BUS_ID                      an NVLink of the first one to the second
///   way BUS_ID BUS_ID PIX
///   failed KIND TEXT...                     instead of all these
///   end                                     without which the answer is not whole
std::string to_text(const Result<DriverFacts>& facts);

/// Reads them. Errors: a failure that the text reports, and kUnavailable for a text that is not
/// whole: then its writer has crashed.
Result<DriverFacts> parse_driver_facts(std::string_view text);

}  // namespace ddprun
