#include "launcher/doctor/checks.hpp"

namespace ddprun {

Findings check_node(const NodeReading& node, bool alone) {
  Findings all;
  for (Findings part : {check_python(node), check_gpus(node), check_cpus(node), check_memory(node),
                        check_folders(node), check_limits(node), check_names(node, alone),
                        check_network(node, alone)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace ddprun
