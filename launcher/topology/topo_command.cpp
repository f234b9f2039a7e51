#include "launcher/topology/topo_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "agent/output/console.hpp"
#include "agent/placement/placement.hpp"
#include "base/log.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/system/own_process.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/run/terminal.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/values.hpp"
#include "launcher/topology/machine_files.hpp"
#include "launcher/topology/machine_json.hpp"
#include "launcher/topology/machine_text.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// The driver takes seconds to wake up eight unused GPUs.
constexpr auto kDriverTimeout = 30s;

struct TopoOptions {
  std::string workers = "1";
  std::string binding = "node";
  bool json = false;
};

/// The machine, and the GPUs that a job on it would see.
struct Surveyed {
  Machine machine;
  WorkerGpus gpus;
};

/// Leaves those GPUs that CUDA_VISIBLE_DEVICES leaves, in its order.
WorkerGpus visible_among(const WorkerGpus& all) {
  WorkerGpus visible;
  for (const int index : visible_indices(own_variable, static_cast<int>(all.nodes.size()))) {
    visible.names.push_back(all.names[static_cast<std::size_t>(index)]);
    visible.nodes.push_back(all.nodes[static_cast<std::size_t>(index)]);
  }
  return visible;
}

Result<Surveyed> survey() {
  auto machine = read_this_machine();
  if (!machine) return machine.error();
  if (!gpus_for_workers(*machine).names.empty()) {
    const auto facts = ask_driver_within(kDriverTimeout);
    if (facts)
      add_driver_facts(*machine, *facts);
    else
      log::warn("NVLinks are not shown: NVIDIA's driver: {}", facts.error().message);
  }
  WorkerGpus visible = visible_among(gpus_for_workers(*machine));
  return Surveyed{std::move(*machine), std::move(visible)};
}

std::string drawing(const Surveyed& surveyed, const std::vector<WorkerPlace>& places,
                    const TopoOptions& options, const TopoStyle& style) {
  const Machine& machine = surveyed.machine;
  std::string text = machine_tree(machine, style);
  for (const std::string& part : {nearness_table(machine, style), device_table(machine, style),
                                  distance_table(machine, style)})
    if (!part.empty()) text += "\n" + part;
  if (machine.gpu_links.empty() && gpus_for_workers(machine).names.size() > 1)
    text += "\nNVLinks are not shown: NVIDIA's driver tells of them, and it was not asked\n";
  if (machine.devices.empty()) text += "\nno GPU and no network card is on the PCI bus\n";
  text += fmt::format("\n--nproc-per-node {} --numa-binding {} puts\n", options.workers,
                      options.binding);
  return text + worker_table(places, style);
}

Result<int> draw(const TopoOptions& options, const CommandContext& context) {
  const auto surveyed = survey();
  if (!surveyed) return surveyed.error();
  const auto workers = parse_workers(
      {options.workers, "--nproc-per-node", true}, [] { return usable_cpus(); },
      [] { return visible_gpus(own_variable); });
  if (!workers) return workers.error();
  const auto places =
      place_on(surveyed->machine, surveyed->gpus, *numa_binding_named(options.binding), *workers);
  if (!places) return Error{places.error().kind, "--numa-binding: " + places.error().message};
  const TopoStyle style{.color = wants_color(STDOUT_FILENO),
                        .columns = terminal_columns(STDOUT_FILENO, 120)};
  context.out.write(options.json ? to_json(surveyed->machine, *places)
                                 : drawing(*surveyed, *places, options, style));
  return 0;
}

}  // namespace

Result<int> run_topo(const std::vector<std::string>& words, const CommandContext& context) {
  TopoOptions options;
  CommandOptions command{
      "Draws this machine: sockets, NUMA nodes, GPUs and network cards, how near they are to each "
      "other as nvidia-smi topo -m has it, and where --numa-binding puts each worker.",
      "ddprun topo"};
  command.option("--nproc-per-node", options.workers, "N",
                 "show where this many workers would run: a number, auto, gpu or cpu",
                 {.variable = "PET_NPROC_PER_NODE"});
  command.option(
      "--numa-binding", options.binding, "KIND",
      "how they are bound: node, socket, exclusive or core-complex",
      {.variable = "PET_NUMA_BINDING", .choices = {"node", "socket", "exclusive", "core-complex"}});
  command.flag("--json", options.json, "print all that is known as JSON");
  command.examples("ddprun topo\nddprun topo --nproc-per-node gpu --numa-binding exclusive");
  if (const auto done = command.parse(words, context.out)) return *done;
  return draw(options, context);
}

}  // namespace ddprun
