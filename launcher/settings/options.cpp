#include "launcher/settings/options.hpp"

#include <algorithm>
#include <cctype>

namespace ddprun {

namespace {

using enum OptionGroup;

// clang-format off
constexpr Option kOptions[] = {
    {"nproc-per-node", 0, "N", "1", kSize, "workers on this node: a number, auto, gpu or cpu"},
    {"nnodes", 0, "N|MIN:MAX", "1:1", kSize, "nodes: a number, or MIN:MAX for a job that goes on with fewer"},
    {"standalone", 0, "", "", kSize, "one node that needs nobody else: own free port, own run id"},

    {"module", 'm', "", "", kProgram, "SCRIPT is a Python module, as in python -m"},
    {"no-python", 0, "", "", kProgram, "SCRIPT is any program"},
    {"run-path", 0, "", "", kProgram, "SCRIPT is a Python script, whatever -m and --no-python say"},
    {"use-env", 0, "", "", kProgram, "with `ddprun launch`: do not give --local-rank to the script", "", "", false},

    {"rdzv-id", 0, "ID", "none", kNodes, "name of the job (TORCHELASTIC_RUN_ID); \"\": a fresh one"},
    {"rdzv-backend", 0, "NAME", "static", kNodes, "static: ranks by --node-rank; c10d: as nodes come", "static c10d etcd etcd-v2"},
    {"rdzv-endpoint", 0, "HOST[:PORT]", "", kNodes, "where the nodes meet; port 0: any free one"},
    {"rdzv-conf", 0, "K=V,...", "", kNodes, "times: join_timeout, last_call_timeout, ..."},
    {"node-rank", 0, "N", "0", kNodes, "this node's rank (static)"},
    {"master-addr", 0, "HOST", "127.0.0.1", kNodes, "address of the first node (static)"},
    {"master-port", 0, "PORT", "29500", kNodes, "its port (static); not given on one node: a free one"},
    {"local-addr", 0, "HOST", "", kNodes, "the address at which workers meet (one node, c10d)"},
    {"store", 0, "WHERE", "leader", kNodes, "where workers reach their store: leader, at the coordinator; local, at 127.0.0.1 through their own agent", "leader local", "", true, true},
    {"no-slurm", 0, "", "", kNodes, "take nothing from Slurm, Open MPI or MPICH", "", "", true, true},

    {"hosts", 0, "HOST[:N],...", "", kHosts, "run the job on these hosts, with N workers there; ssh starts it from here", "", "", true, true},
    {"hostfile", 0, "FILE", "", kHosts, "the same from a file: `h1 slots=4` or `h1:4` for each", "", "", true, true},
    {"export", 'x', "NAME[=VALUE]", "", kHosts, "a variable that the hosts get, too; may be given many times", "", "", false, true},
    {"ssh-cmd", 0, "COMMAND", "ssh", kHosts, "what runs a command on a host, with its options", "", "", true, true},
    {"remote-path", 0, "PATH", "", kHosts, "where ddprun is on the hosts; not given: where it is here", "", "", true, true},
    {"remote-dir", 0, "DIR", "", kHosts, "where it works there; not given: in the directory that it is in here", "", "", true, true},

    {"role", 0, "NAME", "default", kWorkers, "role of the workers (ROLE_NAME)"},
    {"numa-binding", 0, "KIND", "", kWorkers, "bind each worker to CPUs and memory near its GPU", "node socket exclusive core-complex"},
    {"virtual-local-rank", 0, "", "", kWorkers, "every worker has LOCAL_RANK 0 and sees one GPU"},
    {"warm", 0, "[=MODULES]", "", kWorkers, "import once, fork workers: the script's imports, or MODULES (torch,numpy)", "", "", true, true, "auto"},
    {"pty", 0, "", "", kWorkers, "workers write to a terminal even where ddprun does not", "", "", true, true},
    {"no-pty", 0, "", "", kWorkers, "workers never write to a terminal", "", "", true, true},

    {"log-dir", 0, "DIR", "", kOutput, "files go to DIR/<run id>_<random>/attempt_<n>/<local rank>/"},
    {"redirects", 'r', "STREAMS", "0", kOutput, "to files: 0 none, 1 stdout, 2 stderr, 3 both; 0:3,1:2 by local rank"},
    {"tee", 't', "STREAMS", "0", kOutput, "to files, and with a prefix to the terminal"},
    {"local-ranks-filter", 0, "RANKS", "", kOutput, "only these local ranks are shown on the terminal"},
    {"duplicate-stdout-filters", 0, "TEXTS", "", kOutput, "tee'd lines with one of these also go to filtered_stdout.log"},
    {"duplicate-stderr-filters", 0, "TEXTS", "", kOutput, "the same for stderr"},

    {"max-restarts", 0, "N", "0", kFailure, "restarts of all workers after a failure"},
    {"shutdown-timeout", 0, "SECONDS", "30", kFailure, "from SIGTERM to SIGKILL when workers are stopped", "", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
    {"signals-to-handle", 0, "NAMES", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", kFailure, "signals that stop the job; others are handed on"},

    {"preempt-signal", 0, "NAMES", "", kFailure, "signals that announce the end of this node: workers are asked for a checkpoint, the job ends with code 85; in Slurm SIGUSR1,SIGTERM", "", "", true, true},
    {"preempt-timeout", 0, "SECONDS", "60", kFailure, "for that checkpoint, before workers are stopped; after SIGTERM at most 20", "", "", true, true},
    {"checkpoint-signal", 0, "NAME", "SIGUSR1", kFailure, "the signal that asks a worker for it", "", "", true, true},

    {"monitor-interval", 0, "SECONDS", "0.1", kIgnored, "the end of a worker is noticed at once"},
    {"start-method", 0, "NAME", "spawn", kIgnored, "workers are programs", "spawn fork forkserver"},
    {"event-log-handler", 0, "NAME", "null", kIgnored, "LOGLEVEL=INFO tells what happens", "null console dynamic_rendezvous"},
    {"logs-specs", 0, "NAME", "default", kIgnored, "a Python plug-in"},

    {"dry-run", 0, "", "", kHelp, "print environment and command of every worker, start nothing", "", "", false, true},
    {"completion", 0, "SHELL", "", kHelp, "print the completion script for bash, zsh or fish", "bash zsh fish", "", false, true},
    {"man", 0, "", "", kHelp, "print the man page: ddprun --man | man -l -", "", "", false, true},
    {"version", 0, "", "", kHelp, "print the version", "", "", false, true},
    {"help", 'h', "", "", kHelp, "print this help", "", "", false},
};
// clang-format on

}  // namespace

std::string Option::variable() const {
  if (!from_environment) return "";
  std::string variable = "PET_";
  for (const char c : name)
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

std::span<const Option> options() { return kOptions; }

std::string_view title(OptionGroup group) {
  switch (group) {
    case kSize:
      return "Size";
    case kProgram:
      return "Program";
    case kNodes:
      return "Nodes";
    case kHosts:
      return "Hosts over ssh";
    case kWorkers:
      return "Workers";
    case kOutput:
      return "Output";
    case kFailure:
      return "Failure";
    case kHelp:
      return "Help";
    case kIgnored:
      return "Accepted as torchrun's, without effect";
  }
  return "";
}

std::string with_dashes(std::string_view name) {
  std::string dashes{name};
  std::ranges::replace(dashes, '_', '-');
  return dashes;
}

}  // namespace ddprun
