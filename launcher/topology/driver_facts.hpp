// What NVIDIA's driver tells of the GPUs adds to a machine. Pure; machine_files.hpp asks the
// driver.
#pragma once

#include <string_view>

#include "base/machine/gpu_driver.hpp"
#include "base/result.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

/// Adds to `machine` what the driver knows: models, NVLinks, ways, and GPUs that the kernel does
/// not show on its PCI bus. An NVSwitch joins all GPUs that have links to switches, each with as
/// many links as the GPU that has fewer of them.
void add_driver_facts(Machine& machine, const GpusReading& facts);

/// Reads the answer of the process that has asked the driver: a GpusReading as JSON. Errors:
/// kUnavailable, with what the driver said, or for a text that is not whole: then its writer has
/// crashed.
Result<GpusReading> parse_driver_facts(std::string_view text);

}  // namespace ddprun
