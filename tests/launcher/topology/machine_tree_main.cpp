// Writes the kernel's files of a machine that tests know: ddprun_machine_tree DESCRIPTION FOLDER
#include <cstdio>
#include <exception>

#include "tests/launcher/topology/recorded_machine.hpp"

int main(int count, char** words) try {
  if (count != 3) return 2;
  ddprun::write_files(ddprun::read_description(words[1]), words[2]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
