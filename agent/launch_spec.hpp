// LaunchSpec: all that a run needs, validated. The launcher fills it in, the agent carries it out.
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "rendezvous/client.hpp"
#include "rendezvous/round_machine.hpp"

namespace ddprun {

struct LaunchSpec {
  std::string program;                 // path of the executable of every worker
  std::vector<std::string> arguments;  // argv, from argv[0] on
  int workers = 1;                     // of this node

  RoundRules rules;
  Endpoint coordinator;         // port 0: this node hosts it on any free port
  std::string run_id = "none";  // "": a fresh one
  std::string role = "default";
  std::string host;  // this node's name in messages

  std::chrono::milliseconds shutdown_timeout{30'000};               // from SIGTERM to SIGKILL
  std::vector<int> stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};  // those that ddprun obeys
};

}  // namespace ddprun
