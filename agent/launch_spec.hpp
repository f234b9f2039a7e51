// LaunchSpec: all that a run needs, validated. The launcher fills it in, the agent carries it out.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/placement.hpp"
#include "base/endpoint.hpp"
#include "rendezvous/wire/job_terms.hpp"

namespace ddprun {

/// Tells of each of a worker's two streams whether something holds for it.
struct Streams {
  bool out = false;
  bool err = false;
  bool operator==(const Streams&) const = default;
};

/// Where the workers' output goes besides the terminal.
struct LogSpec {
  std::string directory;           // "": a fresh one in the temporary directory
  bool no_files = false;           // --log-dir /dev/null: none at all, error files included
  std::vector<Streams> redirects;  // to files only, by local rank
  std::vector<Streams> tee;        // to files, and with a prefix to the terminal
  std::optional<std::set<int>> shown_ranks;  // local ranks that the terminal shows; nullopt: all
  std::vector<std::string>
      out_filters;  // a tee'd line with one of them goes to the filtered file too
  std::vector<std::string> err_filters;
  std::string prefix_template = "[${role_name}${local_rank}]:";
};

/// Which node runs the coordinator.
enum class Hosting {
  kHere,
  kElsewhere,
  kAtEndpoint,  // the one whose address the endpoint is; of several agents there, the first
};

/// Whether workers write to a pseudo-terminal.
enum class Pty { kAsOurs, kAlways, kNever };  // kAsOurs: where ddprun's own stream is a terminal

/// Workers are forked from a process that has made their imports; see nursery.hpp.
struct WarmStart {
  std::vector<std::string> modules;  // none: those that the script imports
};

struct LaunchSpec {
  std::string title;                   // the script or program as the user named it
  std::string program;                 // path of the executable of every worker
  std::vector<std::string> arguments;  // argv, from argv[0] on
  int workers = 1;                     // of this node

  RoundRules rules;
  Endpoint coordinator;  // "": loopback; port 0: any free one
  Hosting hosting = Hosting::kHere;
  bool rejoin = false;  // a lost coordinator may come back
  int node_rank = -1;   // the wanted group rank; -1: any
  std::string role = "default";
  std::string host;       // this node's name in messages
  bool tells_job = true;  // false: another node's ddprun tells the user what concerns all nodes
  bool shares_output = false;  // with all nodes: only the coordinator's tells what concerns all

  bool virtual_local_rank = false;
  std::optional<WarmStart> warm;
  std::optional<NumaBinding> numa_binding;
  LogSpec logs;
  Pty pty = Pty::kAsOurs;

  std::chrono::milliseconds shutdown_timeout{30'000};  // from SIGTERM to SIGKILL
  std::vector<int> preempt_signals;                    // those that ask for a checkpoint first
  std::chrono::milliseconds preempt_timeout{60'000};   // for that checkpoint
  int checkpoint_signal = SIGUSR1;                     // to the workers
  std::vector<int> stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};  // those that ddprun obeys
};

}  // namespace ddprun
