// Prints the hosts of a Slurm list, one a line, as `scontrol show hostnames` does.
#include <cstdio>

#include "launcher/environments/host_lists.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto hosts = ddprun::expand_slurm_hosts(argv[1]);
  if (!hosts) {
    std::fprintf(stderr, "%s\n", hosts.error().message.c_str());
    return 1;
  }
  for (const std::string& host : *hosts) std::puts(host.c_str());
}
