#include "launcher/settings/options.hpp"

#include <algorithm>
#include <cctype>

namespace ddprun {

namespace {

using enum OptionGroup;

// clang-format off
constexpr Option kOptions[] = {
    {.name = "nproc-per-node", .value = "N", .fallback = "1", .group = kSize, .help = "workers on this node: a number, auto, gpu or cpu", .day_one = true},
    {.name = "nnodes", .value = "N|MIN:MAX", .fallback = "1:1", .group = kSize, .help = "number of nodes, or MIN:MAX for a job that goes on with fewer", .day_one = true},
    {.name = "standalone", .group = kSize, .help = "a job of this node alone, with a free port and a new run id"},

    {.name = "module", .letter = 'm', .group = kProgram, .help = "SCRIPT is a Python module, as in python -m", .day_one = true},
    {.name = "no-python", .group = kProgram, .help = "SCRIPT is any program", .day_one = true},
    {.name = "run-path", .group = kProgram, .help = "SCRIPT is a Python script, whatever -m and --no-python say"},
    {.name = "use-env", .group = kProgram, .help = "with `ddprun launch`: do not pass --local-rank to the script", .from_environment = false},

    {.name = "rdzv-id", .value = "ID", .fallback = "none", .group = kNodes, .help = "name of the job (TORCHELASTIC_RUN_ID); \"\": a new random one"},
    {.name = "rdzv-backend", .value = "NAME", .fallback = "static", .group = kNodes, .help = "static: ranks by --node-rank; c10d: in the order in which nodes join; etcd: the same, and an etcd elects the coordinator", .choices = "static c10d etcd etcd-v2", .other = "another one is a plug-in in Python, which ddprun does not run: use c10d, which needs no service"},
    {.name = "rdzv-endpoint", .value = "HOST[:PORT],...", .group = kNodes, .help = "where nodes meet; port 0: any free one; with several, the first starts the job, and the others are fallbacks; etcd: its members", .day_one = true},
    {.name = "rdzv-conf", .value = "K=V,...", .group = kNodes, .help = "times: join_timeout, last_call_timeout, ..."},
    {.name = "node-rank", .value = "N", .fallback = "0", .group = kNodes, .help = "this node's rank (static)"},
    {.name = "master-addr", .value = "HOST", .fallback = "127.0.0.1", .group = kNodes, .help = "address of the first node (static)"},
    {.name = "master-port", .value = "PORT", .fallback = "29500", .group = kNodes, .help = "its port (static); by default a free one if there is one node"},
    {.name = "local-addr", .value = "HOST", .group = kNodes, .help = "address at which the workers of one node meet (c10d)"},
    {.name = "store", .value = "WHERE", .fallback = "leader", .group = kNodes, .help = "where workers reach their store: leader, at the coordinator; local, at 127.0.0.1, through this node's agent", .choices = "leader local", .own = true},
    {.name = "secret-file", .value = "FILE", .group = kNodes, .help = "the job's secret, the same on all nodes: encrypts their connections and keeps others out; `ddprun secret` makes one (or the variable DDPRUN_SECRET)", .own = true},
    {.name = "no-cluster", .group = kNodes, .help = "ignore the variables of Slurm, Flux, PBS, LSF, MPI, SageMaker and Kubernetes", .own = true},
    {.name = "no-slurm", .group = kNodes, .help = "the same as --no-cluster", .own = true},

    {.name = "hosts", .value = "HOST[:N],...", .group = kHosts, .help = "run the job on these hosts, with N workers each; started from here by ssh", .own = true, .day_one = true},
    {.name = "hostfile", .value = "FILE", .group = kHosts, .help = "hosts from a file, one a line: `h1 slots=4` or `h1:4`", .own = true},
    {.name = "export", .letter = 'x', .value = "NAME[=VALUE]", .group = kHosts, .help = "pass a variable on to the hosts; may be repeated", .from_environment = false, .own = true},
    {.name = "ssh-cmd", .value = "COMMAND", .fallback = "ssh", .group = kHosts, .help = "the command that runs another one on a host, with its options", .own = true},
    {.name = "remote-path", .value = "PATH", .group = kHosts, .help = "path of ddprun on the hosts; by default the same as here", .own = true},
    {.name = "remote-dir", .value = "DIR", .group = kHosts, .help = "working directory on the hosts; by default the same as here", .own = true},

    {.name = "role", .value = "NAME", .fallback = "default", .group = kWorkers, .help = "role of the workers (ROLE_NAME)"},
    {.name = "numa-binding", .value = "KIND", .group = kWorkers, .help = "bind each worker to CPUs and memory near its GPU", .choices = "node socket exclusive core-complex"},
    {.name = "virtual-local-rank", .group = kWorkers, .help = "every worker has LOCAL_RANK 0 and sees one GPU"},
    {.name = "warm", .value = "[=MODULES]", .group = kWorkers, .help = "import modules once and fork workers from there: those of the script, or MODULES (torch,numpy)", .own = true, .bare = "auto"},
    {.name = "pty", .group = kWorkers, .help = "give workers a terminal even if ddprun has none", .own = true},
    {.name = "no-pty", .group = kWorkers, .help = "never give workers a terminal", .own = true},

    {.name = "log-dir", .value = "DIR", .group = kOutput, .help = "write log files to DIR/<run id>_<random>/attempt_<n>/<local rank>/", .day_one = true},
    {.name = "redirects", .letter = 'r', .value = "STREAMS", .fallback = "0", .group = kOutput, .help = "streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 both; 0:3,1:2 by local rank"},
    {.name = "tee", .letter = 't', .value = "STREAMS", .fallback = "0", .group = kOutput, .help = "streams that go to files, and with a prefix to the terminal", .day_one = true},
    {.name = "log-line-prefix-template", .value = "TEXT", .group = kOutput, .help = "prefix of tee'd lines, with ${role_name}, ${local_rank}, ${rank}, ${hostname}; by default [${role_name}${local_rank}]:", .also = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"},
    {.name = "log-timestamps", .group = kOutput, .help = "prefix each line in files and tee'd output with the time", .own = true},
    {.name = "log-rotate", .value = "SIZE:COUNT", .group = kOutput, .help = "keep at most COUNT log files of SIZE for each worker and stream (100M:5)", .own = true},
    {.name = "fold", .group = kOutput, .help = "show identical lines of several workers once: [0-7] loading", .own = true},
    {.name = "event-log", .value = "FILE", .group = kOutput, .help = "write the job's events to FILE, a line of JSON each; `ddprun trace` draws them; ${hostname} is replaced", .own = true},
    {.name = "local-ranks-filter", .value = "RANKS", .group = kOutput, .help = "show only these local ranks on the terminal"},
    {.name = "duplicate-stdout-filters", .value = "TEXTS", .group = kOutput, .help = "copy tee'd lines with one of these to filtered_stdout.log"},
    {.name = "duplicate-stderr-filters", .value = "TEXTS", .group = kOutput, .help = "the same for stderr, to filtered_stderr.log"},
    {.name = "status-addr", .value = "[HOST:]PORT", .group = kOutput, .help = "serve a page on the job, and metrics for Prometheus, at http://HOST:PORT/, from the coordinator's node; without HOST: for this machine only; port 0: any free one", .own = true},

    {.name = "report-file", .value = "FILE", .group = kFailure, .help = "write why the job ended to FILE, as JSON; with --log-dir it is report.json there", .own = true},
    {.name = "no-torchrun-block", .group = kFailure, .help = "do not write torchrun's lines on a failure (Root Cause ...) before the report; on a terminal they are never written", .own = true},
    {.name = "no-run-record", .group = kFailure, .help = "with --log-dir: keep no record of the last good run, from which the report of a failure tells what has changed", .own = true},
    {.name = "checkpoints", .value = "FOLDER=DIR", .group = kFailure, .help = "keep what the program saves in FOLDER: there it is in memory, the newest checkpoint is put back before a restart, and all of them are written to DIR on disk", .own = true},
    {.name = "max-restarts", .value = "N", .fallback = "0", .group = kFailure, .help = "how often the workers may be restarted after a failure; 3/1h: at most 3 within an hour; 3@progress: at most 3 in a row without a further step", .day_one = true},
    {.name = "restart-delay", .value = "FIRST[:MAX]", .fallback = "0", .group = kFailure, .help = "pause before a restart, in seconds or as 5m; with MAX it doubles with each restart that gains no step (0:60)", .own = true},
    {.name = "same-failure-limit", .value = "N", .group = kFailure, .help = "end the job when it fails N times with the same cause and gains no step between", .own = true},
    {.name = "node-history", .value = "DIR", .group = kFailure, .help = "keep in DIR, which all nodes share, which of them caused failures, for this job and later ones; `ddprun nodes` shows them", .own = true},
    {.name = "node-strikes", .value = "N", .group = kFailure, .help = "a node that caused N failures takes part only while others are too few; 3 with --node-history; 0: no node is left out", .own = true},
    {.name = "node-window", .value = "TIME", .fallback = "24h", .group = kFailure, .help = "time within which those failures lie", .own = true},
    {.name = "check-nodes", .value = "[=DIRS]", .group = kFailure, .help = "look before each round at disks and GPUs of this node, also at folders DIRS (/ckpt,/data); one that is not fit leaves its place to others", .own = true, .bare = "on"},
    {.name = "shutdown-timeout", .value = "SECONDS", .fallback = "30", .group = kFailure, .help = "time between SIGTERM and SIGKILL when workers are stopped", .also = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
    {.name = "signals-to-handle", .value = "NAMES", .fallback = "SIGTERM,SIGINT,SIGHUP,SIGQUIT", .group = kFailure, .help = "signals that stop the job; others are passed on to the workers"},

    {.name = "hang-timeout", .value = "SECONDS", .fallback = "auto", .group = kFailure, .help = "time without progress before ddprun reports which rank is stuck, and where; auto: learned, at least 60; off", .own = true},
    {.name = "on-hang", .value = "WHAT", .fallback = "report", .group = kFailure, .help = "after the report of a hang: report, go on; restart, counts as a failure; stop, end the job with exit code 86", .choices = "report restart stop", .own = true},
    {.name = "debug-on-error", .value = "[=SECONDS]", .group = kFailure, .help = "a worker that would end by an exception of Python waits for `ddprun debug`, at most for SECONDS, or 600", .own = true, .bare = "600"},
    {.name = "no-in-place", .group = kFailure, .help = "restart all workers when one is lost, even those that could go on (ddprun.ElasticRun)", .own = true},
    {.name = "no-introspection", .group = kFailure, .help = "do not instrument workers (no stack traces of hangs): their environment is that of torchrun", .own = true},

    {.name = "preempt-signal", .value = "NAMES", .group = kFailure, .help = "signals that announce the end of this node: workers write a checkpoint, and the job ends with exit code 85; in Slurm SIGUSR1,SIGTERM", .own = true},
    {.name = "preempt-timeout", .value = "SECONDS", .fallback = "60", .group = kFailure, .help = "time for that checkpoint before workers are stopped; in Slurm, and unless it is given, at most 20 after SIGTERM", .own = true},
    {.name = "checkpoint-signal", .value = "NAME", .fallback = "SIGUSR1", .group = kFailure, .help = "the signal that asks a worker for that checkpoint", .own = true},

    {.name = "monitor-interval", .value = "SECONDS", .fallback = "0.1", .group = kIgnored, .help = "ddprun notices the end of a worker at once"},
    {.name = "start-method", .value = "NAME", .fallback = "spawn", .group = kIgnored, .help = "workers are always separate programs", .choices = "spawn fork forkserver"},
    {.name = "event-log-handler", .value = "NAME", .fallback = "null", .group = kIgnored, .help = "LOGLEVEL=INFO shows events, --event-log FILE writes them", .choices = "null console dynamic_rendezvous", .other = "another one is a handler in Python, which ddprun does not run: use --event-log FILE"},
    {.name = "logs-specs", .value = "NAME", .fallback = "default", .group = kIgnored, .help = "a plug-in in Python, which ddprun does not run: use --log-dir, --redirects, --tee"},

    {.name = "dry-run", .group = kHelp, .help = "print each worker's environment and command, and start nothing", .from_environment = false, .own = true, .day_one = true},
    {.name = "completion", .value = "SHELL", .group = kHelp, .help = "print the completion script for a shell", .choices = "bash zsh fish tcsh", .from_environment = false, .own = true},
    {.name = "print-completion", .value = "SHELL", .group = kHelp, .help = "the same as --completion", .choices = "bash zsh fish tcsh", .from_environment = false},
    {.name = "man", .group = kHelp, .help = "print the man page: ddprun --man | man -l -", .from_environment = false, .own = true},
    {.name = "version", .group = kHelp, .help = "print the version, the commit and how it was built", .from_environment = false, .own = true},
    {.name = "help", .letter = 'h', .group = kHelp, .help = "print all options and commands; -h: the ten options that most jobs need", .from_environment = false},
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

std::vector<std::string_view> Option::choice_list() const {
  std::vector<std::string_view> list;
  for (std::string_view rest = choices; !rest.empty();) {
    list.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), list.back().size() + 1));
  }
  return list;
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
