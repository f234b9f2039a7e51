// LaunchSpec: all that a run needs, validated. The launcher makes it, and it never changes
// afterwards: what turns out only when the run begins is in RunFacts beside it.
#pragma once

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/checkpoints/checkpoint_spec.hpp"
#include "agent/output/log_rotation.hpp"
#include "agent/placement/placement.hpp"
#include "base/endpoint.hpp"
#include "rendezvous/etcd/etcd_place.hpp"
#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// Tells of each of a worker's two streams whether something holds for it.
struct Streams {
  bool out = false;
  bool err = false;
  bool operator==(const Streams&) const = default;
};

/// The value of an option that has none, and is given.
inline constexpr char kFlagIsOn[] = "on";

/// What a good run leaves in the folder of logs, so that a later one can tell what has changed.
struct RecordSpec {
  bool wanted = true;
  /// The options, by name and with their values, that were given and matter to how any run goes.
  std::map<std::string, std::string> options;
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
  bool fold = false;  // the terminal shows lines once that several workers of this node say
  std::string fold_template = "[${rank}] ";  // their prefix, with lists of ranks put in
  bool timestamps = false;                   // before each line, in files and behind a prefix
  RotationRule rotation;                     // for stdout.log and stderr.log
  RecordSpec record;
  bool torchrun_block = true;  // where no person reads along, before the report of a failure
};

/// Whether the output of any worker goes to a file.
bool wants_log_files(const LogSpec& logs);
/// Whether there is a folder of logs. Else workers' error files are in the system's folder for
/// temporary files.
bool uses_log_folder(const LogSpec& logs);

/// Which node runs the coordinator.
enum class Hosting {
  kHere,
  kElsewhere,
  kAtEndpoint,  // the one whose address the endpoint is; of several agents there, the first
  kByEtcd,      // the one that etcd chooses
};

/// How the nodes of a job meet. The launcher decides it once; see launcher/settings/meeting.hpp.
struct Meeting {
  std::string run_id;  // the job's name; "": the run makes a fresh one
  int node_rank = -1;  // the wanted group rank of this node; -1: any
  Hosting hosting = Hosting::kHere;
  /// Where the coordinator is. Its host is also the workers' MASTER_ADDR. Port 0: any free one,
  /// which only a job on one node may have, or the node that hosts.
  Endpoint coordinator{"127.0.0.1", 0};
  /// Where it may be, too, in order; that one is the first. Empty: it is nowhere else.
  std::vector<Endpoint> places;
  /// Whether all nodes write to one terminal. Then only the coordinator's node tells the user what
  /// concerns the whole job; otherwise every node does.
  bool shares_output = false;
  /// etcd decides which node runs the coordinator, and says where that is. Then every node may, at
  /// the port of `coordinator` where that is free, and else at any.
  std::optional<EtcdPlace> etcd;
  bool operator==(const Meeting&) const = default;
};

/// Whether workers write to a pseudo-terminal.
enum class Pty { kAsOurs, kAlways, kNever };  // kAsOurs: where ddprun's own stream is a terminal

/// Workers are forked from a process that has made their imports; see fork_server.hpp.
struct WarmStart {
  std::vector<std::string> modules;  // none: those that the script imports
};

/// How a job ends of which its scheduler announces the end: with a checkpoint.
struct Preemption {
  std::vector<int> signals;                   // those that announce it
  std::chrono::milliseconds timeout{60'000};  // for the checkpoint
  std::chrono::milliseconds timeout_after_sigterm{20'000};
  int checkpoint_signal = SIGUSR1;  // to the workers, which write it
};

/// This node is looked at before each round.
struct NodeCheck {
  std::vector<std::string> folders;  // checkpoints go there
};

/// What a job does with the machine of this node.
struct NodeSpec {
  std::optional<NumaBinding> numa_binding;
  std::optional<NodeCheck> check;
  std::optional<CheckpointSpec> checkpoints;  // nullopt: the program keeps its own
  std::string history;  // the folder of failures of nodes, which these share; "": none
};

/// What lets one look into workers.
struct IntrospectionSpec {
  bool on = true;  // workers open what tells how far they are, and where they are when they hang
  /// A Python worker that would end by an exception waits this long for a debugger; 0: it ends.
  std::chrono::milliseconds debug_on_error{0};
};

struct LaunchSpec {
  std::string title;                   // the script or program as the user named it
  std::string program;                 // path of the executable of every worker
  std::vector<std::string> arguments;  // argv, from argv[0] on
  int workers = 1;                     // on this node

  JobTerms terms;
  bool in_place = true;  // workers that can stay go on living while members of the job change
  Meeting meeting;
  std::optional<Secret> secret;  // the nodes share it; nullopt: any process that reaches the
                                 // endpoint may join
  std::string role = "default";

  IntrospectionSpec introspection;
  bool virtual_local_rank = false;
  std::optional<WarmStart> warm;
  NodeSpec node;
  LogSpec logs;
  std::string event_log;  // file of what happens, with ${hostname} in its name; "": none
  /// Where the coordinator's node shows the job in a browser; nullopt: nowhere. Port 0: any free
  /// one.
  std::optional<Endpoint> status_address;
  Pty pty = Pty::kAsOurs;

  Preemption preemption;
  std::string report_file;  // gets the report of the job's end as JSON; "": none is written
  std::vector<int> stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};  // those that ddprun obeys
};

/// What turns out when a run begins, beside what its LaunchSpec says.
struct RunFacts {
  std::string run_id;             // the meeting's, or a fresh one
  std::string host;               // this node's name in messages
  std::string command;            // its command line, without secrets; "": nobody knows it
  Endpoint coordinator;           // where this node's agent reaches it
  bool coordinator_here = false;  // it runs in this process
};

/// How this node stands by where another one coordinates the job.
Standby standby_of(const LaunchSpec& spec);

/// The rules of the job's coordinator, were it to run here.
CoordinatorRules coordinator_rules(const LaunchSpec& spec, const std::string& run_id);

}  // namespace ddprun
