// ddprun_simulate_hosts [SEEDS] [--first-seed S] [--verbose]: runs that many random jobs on several
// hosts on fake time.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/simulation/hosts_run.hpp"

namespace {

using ddprun::simulation::HostsRun;

constexpr std::size_t kLastLines = 40;
constexpr std::size_t kAllLines = 1'000'000;

void print(const HostsRun::Outcome& outcome) {
  for (const std::string& line : outcome.trace) std::printf("  %s\n", line.c_str());
}

/// The run is repeated for its last events: writing them down is what takes time.
void report(std::uint64_t seed, const char* program) {
  const HostsRun::Outcome outcome = HostsRun::run(seed, kLastLines);
  std::printf("seed %llu broke an invariant after %.3f s\n", static_cast<unsigned long long>(seed),
              static_cast<double>(outcome.simulated.count()) / 1000);
  std::printf("  %s\n", outcome.broken ? outcome.broken->c_str() : "and not when it ran again");
  std::printf("the last events:\n");
  print(outcome);
  std::printf("replay: %s 1 --first-seed %llu --verbose\n", program,
              static_cast<unsigned long long>(seed));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 1'000;
  std::uint64_t first_seed = 1;
  bool verbose = false;
  CLI::App app{"Runs random jobs on several hosts on fake time, and checks invariants."};
  app.add_option("SEEDS", seeds, "How many jobs")->capture_default_str();
  app.add_option("--first-seed", first_seed, "The first job's seed")->capture_default_str();
  app.add_flag("--verbose", verbose, "Print every event");
  CLI11_PARSE(app, argc, argv);

  std::int64_t faults = 0, interrupts = 0;
  std::chrono::milliseconds simulated{};
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const HostsRun::Outcome outcome = HostsRun::run(seed, verbose ? kAllLines : 0);
    if (verbose) print(outcome);
    if (outcome.broken) {
      report(seed, argv[0]);
      return 1;
    }
    faults += outcome.faults;
    interrupts += outcome.interrupts;
    simulated += outcome.simulated;
  }
  std::printf(
      "%llu seeds, %.0f simulated hours, %lld faulty hosts, %lld signals of users: no "
      "invariant broken\n",
      static_cast<unsigned long long>(seeds), static_cast<double>(simulated.count()) / 3'600'000,
      static_cast<long long>(faults), static_cast<long long>(interrupts));
}
