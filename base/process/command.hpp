// What a process that is to be started runs, and where.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Where a process runs: see agent/placement, which chooses it.
struct Placement {
  std::vector<int> cpus;          // ascending, never empty
  std::vector<int> memory_nodes;  // the NUMA nodes of these CPUs, ascending

  bool operator==(const Placement&) const = default;
};

/// One process to start.
struct Command {
  std::string program;                   // a path: PATH is not searched
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // "NAME=value", all of it
  Placement placement;                   // empty lists: wherever the system likes
};

/// Texts as exec(3) takes them: with a null pointer at the end. They must live longer.
inline std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace ddprun
