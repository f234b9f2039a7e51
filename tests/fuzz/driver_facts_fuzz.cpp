// Fuzzes what the process says that asks NVIDIA's driver, and the drawing of such GPUs.
#include <string>
#include <string_view>

#include "base/machine/gpu_fields.hpp"
#include "launcher/topology/driver_facts.hpp"
#include "launcher/topology/machine_text.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace ddprun;
  const auto facts = parse_driver_facts({reinterpret_cast<const char*>(data), size});
  if (!facts) return 0;
  require(parse_driver_facts(fields::to_text(*facts)).has_value());
  Machine machine{.nodes = {{.id = 0, .cpus = {0}}}};
  add_driver_facts(machine, *facts);
  const std::string text =
      machine_tree(machine, {}) + nearness_table(machine, {}) + device_table(machine, {});
  for (const char c : text) require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  return 0;
}
