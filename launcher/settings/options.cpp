#include "launcher/settings/options.hpp"

#include <algorithm>
#include <cctype>

namespace ddprun {

namespace {

using enum OptionGroup;

// clang-format off
constexpr Option kOptions[] = {
    {.name = "nproc-per-node", .value = "N", .fallback = "1", .group = kSize, .help = "workers on this node: a number, auto, gpu or cpu"},
    {.name = "nnodes", .value = "N|MIN:MAX", .fallback = "1:1", .group = kSize, .help = "nodes: a number, or MIN:MAX for a job that goes on with fewer"},
    {.name = "standalone", .group = kSize, .help = "one node that needs nobody else: own free port, own run id"},

    {.name = "module", .letter = 'm', .group = kProgram, .help = "SCRIPT is a Python module, as in python -m"},
    {.name = "no-python", .group = kProgram, .help = "SCRIPT is any program"},
    {.name = "run-path", .group = kProgram, .help = "SCRIPT is a Python script, whatever -m and --no-python say"},
    {.name = "use-env", .group = kProgram, .help = "with `ddprun launch`: do not give --local-rank to the script", .from_environment = false},

    {.name = "rdzv-id", .value = "ID", .fallback = "none", .group = kNodes, .help = "name of the job (TORCHELASTIC_RUN_ID); \"\": a fresh one"},
    {.name = "rdzv-backend", .value = "NAME", .fallback = "static", .group = kNodes, .help = "static: ranks by --node-rank; c10d: as nodes come; etcd: the same, and an etcd chooses who coordinates", .choices = "static c10d etcd etcd-v2"},
    {.name = "rdzv-endpoint", .value = "HOST[:PORT],...", .group = kNodes, .help = "where the nodes meet; port 0: any free one; several: where the coordinator may be, the first begins; of etcd: its members"},
    {.name = "rdzv-conf", .value = "K=V,...", .group = kNodes, .help = "times: join_timeout, last_call_timeout, ..."},
    {.name = "node-rank", .value = "N", .fallback = "0", .group = kNodes, .help = "this node's rank (static)"},
    {.name = "master-addr", .value = "HOST", .fallback = "127.0.0.1", .group = kNodes, .help = "address of the first node (static)"},
    {.name = "master-port", .value = "PORT", .fallback = "29500", .group = kNodes, .help = "its port (static); not given on one node: a free one"},
    {.name = "local-addr", .value = "HOST", .group = kNodes, .help = "the address at which workers meet (one node, c10d)"},
    {.name = "store", .value = "WHERE", .fallback = "leader", .group = kNodes, .help = "where workers reach their store: leader, at the coordinator; local, at 127.0.0.1 through their own agent", .choices = "leader local", .own = true},
    {.name = "secret-file", .value = "FILE", .group = kNodes, .help = "the secret of the job's nodes, the same on all: their connections are encrypted, and nobody joins without it (`ddprun secret` makes one; the variable DDPRUN_SECRET may have it instead)", .own = true},
    {.name = "no-cluster", .group = kNodes, .help = "take nothing from what has started ddprun: Slurm, Flux, PBS, LSF, MPI, SageMaker or Kubernetes", .own = true},
    {.name = "no-slurm", .group = kNodes, .help = "the same", .own = true},

    {.name = "hosts", .value = "HOST[:N],...", .group = kHosts, .help = "run the job on these hosts, with N workers there; ssh starts it from here", .own = true},
    {.name = "hostfile", .value = "FILE", .group = kHosts, .help = "the same from a file: `h1 slots=4` or `h1:4` for each", .own = true},
    {.name = "export", .letter = 'x', .value = "NAME[=VALUE]", .group = kHosts, .help = "a variable that the hosts get, too; may be given many times", .from_environment = false, .own = true},
    {.name = "ssh-cmd", .value = "COMMAND", .fallback = "ssh", .group = kHosts, .help = "what runs a command on a host, with its options", .own = true},
    {.name = "remote-path", .value = "PATH", .group = kHosts, .help = "where ddprun is on the hosts; not given: where it is here", .own = true},
    {.name = "remote-dir", .value = "DIR", .group = kHosts, .help = "where it works there; not given: in the directory that it is in here", .own = true},

    {.name = "role", .value = "NAME", .fallback = "default", .group = kWorkers, .help = "role of the workers (ROLE_NAME)"},
    {.name = "numa-binding", .value = "KIND", .group = kWorkers, .help = "bind each worker to CPUs and memory near its GPU", .choices = "node socket exclusive core-complex"},
    {.name = "virtual-local-rank", .group = kWorkers, .help = "every worker has LOCAL_RANK 0 and sees one GPU"},
    {.name = "warm", .value = "[=MODULES]", .group = kWorkers, .help = "import once, fork workers: the script's imports, or MODULES (torch,numpy)", .own = true, .bare = "auto"},
    {.name = "pty", .group = kWorkers, .help = "workers write to a terminal even where ddprun does not", .own = true},
    {.name = "no-pty", .group = kWorkers, .help = "workers never write to a terminal", .own = true},

    {.name = "log-dir", .value = "DIR", .group = kOutput, .help = "files go to DIR/<run id>_<random>/attempt_<n>/<local rank>/"},
    {.name = "redirects", .letter = 'r', .value = "STREAMS", .fallback = "0", .group = kOutput, .help = "to files: 0 none, 1 stdout, 2 stderr, 3 both; 0:3,1:2 by local rank"},
    {.name = "tee", .letter = 't', .value = "STREAMS", .fallback = "0", .group = kOutput, .help = "to files, and with a prefix to the terminal"},
    {.name = "log-line-prefix-template", .value = "TEXT", .group = kOutput, .help = "prefix of tee'd lines, with ${role_name}, ${local_rank}, ${rank}, ${hostname}; not given: [${role_name}${local_rank}]:", .also = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"},
    {.name = "log-timestamps", .group = kOutput, .help = "the time before each line in files and of tee'd lines", .own = true},
    {.name = "log-rotate", .value = "SIZE:COUNT", .group = kOutput, .help = "stdout.log and stderr.log: at most COUNT files of SIZE (100M:5) for each worker", .own = true},
    {.name = "fold", .group = kOutput, .help = "lines that several workers of a node say alike are shown once: [0-7] loading", .own = true},
    {.name = "event-log", .value = "FILE", .group = kOutput, .help = "what happens to the job, as lines of JSON, for programs and for `ddprun trace`; ${hostname} is replaced", .own = true},
    {.name = "local-ranks-filter", .value = "RANKS", .group = kOutput, .help = "only these local ranks are shown on the terminal"},
    {.name = "duplicate-stdout-filters", .value = "TEXTS", .group = kOutput, .help = "tee'd lines with one of these also go to filtered_stdout.log"},
    {.name = "duplicate-stderr-filters", .value = "TEXTS", .group = kOutput, .help = "the same for stderr"},
    {.name = "status-addr", .value = "[HOST:]PORT", .group = kOutput, .help = "show the job in a browser, and its numbers to Prometheus, at http://HOST:PORT/; without HOST: on this machine only; port 0: any free one. The node that hosts the coordinator serves it", .own = true},

    {.name = "report-file", .value = "FILE", .group = kFailure, .help = "why the job ended, as JSON; in --log-dir it is report.json", .own = true},
    {.name = "max-restarts", .value = "N", .fallback = "0", .group = kFailure, .help = "restarts of all workers after a failure"},
    {.name = "shutdown-timeout", .value = "SECONDS", .fallback = "30", .group = kFailure, .help = "from SIGTERM to SIGKILL when workers are stopped", .also = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
    {.name = "signals-to-handle", .value = "NAMES", .fallback = "SIGTERM,SIGINT,SIGHUP,SIGQUIT", .group = kFailure, .help = "signals that stop the job; others are handed on"},

    {.name = "hang-timeout", .value = "SECONDS", .fallback = "auto", .group = kFailure, .help = "so long workers wait for one that does nothing, and then it is told which one and at which line; auto: learned, at least 60; off", .own = true},
    {.name = "on-hang", .value = "WHAT", .fallback = "report", .group = kFailure, .help = "what else happens then: report, nothing; restart, it counts as a failure; stop, the job ends with code 86", .choices = "report restart stop", .own = true},
    {.name = "no-in-place", .group = kFailure, .help = "start all workers anew when one is lost, also those that could stay (ddprun.ElasticRun)", .own = true},
    {.name = "no-introspection", .group = kFailure, .help = "open nothing in workers that tells where they are: their environment is torchrun's", .own = true},

    {.name = "preempt-signal", .value = "NAMES", .group = kFailure, .help = "signals that announce the end of this node: workers are asked for a checkpoint, the job ends with code 85; in Slurm SIGUSR1,SIGTERM", .own = true},
    {.name = "preempt-timeout", .value = "SECONDS", .fallback = "60", .group = kFailure, .help = "for that checkpoint, before workers are stopped; after SIGTERM at most 20", .own = true},
    {.name = "checkpoint-signal", .value = "NAME", .fallback = "SIGUSR1", .group = kFailure, .help = "the signal that asks a worker for it", .own = true},

    {.name = "monitor-interval", .value = "SECONDS", .fallback = "0.1", .group = kIgnored, .help = "the end of a worker is noticed at once"},
    {.name = "start-method", .value = "NAME", .fallback = "spawn", .group = kIgnored, .help = "workers are programs", .choices = "spawn fork forkserver"},
    {.name = "event-log-handler", .value = "NAME", .fallback = "null", .group = kIgnored, .help = "LOGLEVEL=INFO tells what happens", .choices = "null console dynamic_rendezvous"},
    {.name = "logs-specs", .value = "NAME", .fallback = "default", .group = kIgnored, .help = "a Python plug-in"},

    {.name = "dry-run", .group = kHelp, .help = "print environment and command of every worker, start nothing", .from_environment = false, .own = true},
    {.name = "completion", .value = "SHELL", .group = kHelp, .help = "print the completion script for a shell", .choices = "bash zsh fish tcsh", .from_environment = false, .own = true},
    {.name = "print-completion", .value = "SHELL", .group = kHelp, .help = "the same", .choices = "bash zsh fish tcsh", .from_environment = false},
    {.name = "man", .group = kHelp, .help = "print the man page: ddprun --man | man -l -", .from_environment = false, .own = true},
    {.name = "version", .group = kHelp, .help = "print the version, the commit and how it was built", .from_environment = false, .own = true},
    {.name = "help", .letter = 'h', .group = kHelp, .help = "print this help", .from_environment = false},
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
