// Fuzzes what `ddprun topo --input FILE` reads and then draws, and what the process says that asks
// NVIDIA's driver. The first byte of the input says which of the two it is.
#include <string>
#include <string_view>

#include "launcher/topology/driver_facts_text.hpp"
#include "launcher/topology/machine_drawing.hpp"
#include "launcher/topology/machine_json.hpp"
#include "launcher/topology/machine_tables.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

/// Nothing that is drawn orders a terminal about, and the machine can be sent on.
void check(const Machine& machine) {
  const TopoStyle style{};
  const std::string text = machine_tree(machine, style) + nearness_table(machine, style) +
                           device_table(machine, style) + distance_table(machine, style);
  for (const char c : text) require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  const auto places = place_on(machine, gpus_for_workers(machine), NumaBinding::kExclusive, 2);
  require(places.has_value() || !places.error().message.empty());
  const auto again = parse_machine(to_json(machine, {}));
  require(again.has_value() && again->nodes == machine.nodes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (data[0] % 2 == 0) {
    if (const auto machine = parse_machine(text)) check(*machine);
    return 0;
  }
  const auto facts = parse_driver_facts(text);
  if (!facts) return 0;
  Machine machine;
  add_driver_facts(machine, *facts);
  require(parse_driver_facts(to_text(*facts)).has_value());
  return 0;
}
