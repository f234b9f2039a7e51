// ddprun_simulate [--succession | --etcd] [SEEDS] [--first-seed S] [--verbose]: runs that many
// random clusters on fake time.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/simulation/cluster.hpp"
#include "tests/simulation/etcd_run.hpp"
#include "tests/simulation/succession.hpp"

namespace {

using ddprun::simulation::Cluster;
using ddprun::simulation::EtcdRun;
using ddprun::simulation::SuccessionRun;

constexpr std::size_t kLastLines = 40;
constexpr std::size_t kAllLines = 1'000'000;

template <typename Outcome>
void print(const Outcome& outcome) {
  for (const std::string& line : outcome.trace) std::printf("  %s\n", line.c_str());
}

/// The run is repeated for its last events: writing them down is what takes time.
template <typename Run>
void report(std::uint64_t seed, const char* program, const char* mode) {
  const auto outcome = Run::run(seed, kLastLines);
  std::printf("seed %llu broke an invariant after %.3f s\n", static_cast<unsigned long long>(seed),
              static_cast<double>(outcome.simulated.count()) / 1000);
  std::printf("  %s\n", outcome.broken ? outcome.broken->c_str() : "and not when it ran again");
  std::printf("the last events:\n");
  print(outcome);
  std::printf("replay: %s %s1 --first-seed %llu --verbose\n", program, mode,
              static_cast<unsigned long long>(seed));
}

/// Runs that many seeds. Returns the exit code.
template <typename Run>
int run_all(std::uint64_t first_seed, std::uint64_t seeds, bool verbose, const char* program,
            const char* mode) {
  std::int64_t rounds = 0, faults = 0, heads = 0, went_on = 0;
  std::chrono::milliseconds simulated{};
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const auto outcome = Run::run(seed, verbose ? kAllLines : 0);
    if (verbose) print(outcome);
    if (outcome.broken) {
      report<Run>(seed, program, mode);
      return 1;
    }
    rounds += outcome.rounds;
    faults += outcome.faults;
    if constexpr (requires { outcome.heads; }) heads += outcome.heads;
    if constexpr (requires { outcome.went_on; }) went_on += outcome.went_on;
    simulated += outcome.simulated;
  }
  std::printf("%llu seeds, %.0f simulated hours, %lld rounds, %lld faults",
              static_cast<unsigned long long>(seeds),
              static_cast<double>(simulated.count()) / 3'600'000, static_cast<long long>(rounds),
              static_cast<long long>(faults));
  if (heads > 0) std::printf(", %lld heads", static_cast<long long>(heads));
  if (went_on > 0)
    std::printf(", %lld rounds went on under a new server", static_cast<long long>(went_on));
  std::printf(": no invariant broken\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 1'000;
  std::uint64_t first_seed = 1;
  bool verbose = false;
  bool succession = false;
  bool etcd = false;
  CLI::App app{"Runs random clusters on fake time and a fake network, and checks invariants."};
  app.add_option("SEEDS", seeds, "How many clusters")->capture_default_str();
  app.add_option("--first-seed", first_seed, "Of the first cluster")->capture_default_str();
  app.add_flag("--verbose", verbose, "Print every event");
  app.add_flag("--succession", succession, "Jobs whose coordinator may be lost, and followed");
  app.add_flag("--etcd", etcd, "Jobs whose coordinator an etcd chooses");
  CLI11_PARSE(app, argc, argv);

  if (succession)
    return run_all<SuccessionRun>(first_seed, seeds, verbose, argv[0], "--succession ");
  if (etcd) return run_all<EtcdRun>(first_seed, seeds, verbose, argv[0], "--etcd ");
  return run_all<Cluster>(first_seed, seeds, verbose, argv[0], "");
}
