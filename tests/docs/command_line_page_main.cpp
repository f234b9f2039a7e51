// Prints docs/command-line.md as it should be: for the test that compares it, and for scripts/docs.
#include <cstdio>

#include "launcher/commands/man_page.hpp"

int main() {
  std::fputs(ddprun::command_line_page().c_str(), stdout);
  return std::ferror(stdout) == 0 && std::fclose(stdout) == 0 ? 0 : 1;
}
