// plan_workers() decides which commands, with which environment, make up this node's part of a
// round, and plan_output() where the workers' output goes. Pure.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/output/stream_plan.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/process/command.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

/// What is known of the machine before a run begins, and of ddprun's own process on it.
struct MachineFacts {
  std::vector<std::string> environment;  // the agent's own, "NAME=value"
  int usable_cpus = 1;
  Streams terminals;                  // which of the agent's own streams are terminals
  std::vector<Placement> placements;  // by local rank, when workers are bound to CPUs
};

/// The files of a run; "": there are none.
struct RunPaths {
  std::filesystem::path run_directory;  // for logs and error files
  std::string watch_folder;             // for the hook in Python workers, see introspection.hpp
  std::string heartbeats;               // the memory that workers' heartbeats go to
};

/// Where workers report to the agent; "": nowhere.
struct WorkerEndpoints {
  /// The address at which a worker's training tells how far it is, before "/" and its local rank;
  /// see trainer_endpoint.hpp.
  std::string trainer_url;
  std::string trainer_token;  // path of the file with the token for that
  std::string control;        // path of the socket for workers that can stay, see worker_socket.hpp
  std::string timer_pipe;     // path of the workers' timers, see timer_table.hpp
};

/// What is known of the machine and of the run on it.
struct NodeFacts {
  MachineFacts machine;
  RunPaths paths;
  WorkerEndpoints endpoints;
  std::string mark;     // every process of this node's workers carries it; "" none
  pid_t guardian = -1;  // a child of the agent that is no worker; see guardian.hpp
  RunFacts run;
};

/// The variable with the marks of all agents above a worker, separated by ':'. A process that has a
/// mark in it belongs to that agent's job, whatever its parent and its session are by now.
inline constexpr char kMarkVariable[] = "DDPRUN_JOB";

/// The directory of a round's files, attempt_<n> in the run directory; "" without a run directory.
/// The name is torchrun's. We count rounds in it and not failures, so that nothing of an earlier
/// round is overwritten.
std::filesystem::path round_directory(const NodeFacts& node, const StartRound& round);

/// Where a worker records the exception that ended it; its parent directory must be created.
/// "" without a run directory.
std::filesystem::path error_file(const NodeFacts& node, const StartRound& round, int local_rank);

/// The OMP_NUM_THREADS that each of `workers` gets when the user has not chosen one; nullopt: the
/// libraries choose, because one worker may use all CPUs.
std::optional<int> threads_per_worker(int workers, int usable_cpus);

/// What every worker of this node has in its environment, whichever its round and rank.
struct CommonEnvironment {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<std::string> per_worker;   // the names that each worker has besides
};
CommonEnvironment common_environment(const LaunchSpec& spec, const NodeFacts& node);

/// The variables of a worker that are other ones in each round.
std::map<std::string, std::string> round_environment(const LaunchSpec& spec,
                                                     const StartRound& round, const NodeFacts& node,
                                                     int local_rank);

/// The commands of this node in `round`, by local rank. The environment is torchrun's: see
/// ddprun/worker_env.hpp.
std::vector<Command> plan_workers(const LaunchSpec& spec, const StartRound& round,
                                  const NodeFacts& node);

/// Where the streams of a worker go. Files and prefix are torchrun's
/// (https://docs.pytorch.org/docs/stable/elastic/multiprocessing.html): attempt_<n>/<local
/// rank>/stdout.log and stderr.log, attempt_<n>/filtered_stdout.log.
struct OutputPlan {
  StreamPlan out;
  StreamPlan err;
};

/// Where the streams of worker `local_rank` of this node go in `round`.
OutputPlan plan_output(const LaunchSpec& spec, const StartRound& round, const NodeFacts& node,
                       int local_rank);

/// The file in which to look for what a worker said last; "": its output is in no file.
std::string log_file(const OutputPlan& plan);

/// A worker that writes a line.
struct LineWriter {
  std::string role;
  std::string host;  // the name of its node
  std::string rank;  // or a list of them, as 0-3,7
  std::string local_rank;
};

/// The prefix of a worker's lines: the template `text` (template_text.hpp) with role_name, rank,
/// local_rank and hostname put in.
std::string line_prefix(const std::string& text, const LineWriter& writer);

/// What stands before lines that `ranks` said alike.
std::string fold_label(const LaunchSpec& spec, const NodeFacts& node, const std::vector<int>& ranks,
                       const std::vector<int>& local_ranks);

}  // namespace ddprun
