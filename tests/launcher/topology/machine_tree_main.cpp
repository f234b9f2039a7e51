// Writes the kernel's files of a machine that tests know, and prints what ddprun reads of such
// files:
//   ddprun_machine_tree DESCRIPTION FOLDER
//   ddprun_machine_tree --json FOLDER
#include <cstdio>
#include <exception>
#include <string>

#include "launcher/topology/machine_files.hpp"
#include "launcher/topology/machine_json.hpp"
#include "tests/launcher/topology/recorded_machine.hpp"

int main(int count, char** words) try {
  if (count != 3) return 2;
  if (std::string{words[1]} == "--json")
    std::fputs(to_json(ddprun::read_recorded_machine(words[2]).value(), {}).c_str(), stdout);
  else
    ddprun::write_files(ddprun::read_description(words[1]), words[2]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
