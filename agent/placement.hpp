#pragma once
#include <vector>
namespace ddprun {
enum class NumaBinding { kNode, kSocket, kExclusive, kCoreComplex };
struct Placement {
  std::vector<int> cpus;
  std::vector<int> memory_nodes;
  bool operator==(const Placement&) const = default;
};
}  // namespace ddprun
