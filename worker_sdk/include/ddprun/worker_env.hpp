// The environment that a worker is started with: the names of its variables, which the agent
// writes and the SDK reads, and WorkerEnv, the values read back. Needs no LibTorch.
//
// The names and meanings are those of torchrun ("Environment Variables" in
// https://docs.pytorch.org/docs/stable/elastic/run.html). Those that begin with DDPRUN_ are
// ddprun's own: the number of the round, where heartbeats go (heartbeat_slot.hpp), the number of
// the signal that asks for a checkpoint, and the name of the socket at which a worker tells what it
// does (control_server.hpp). The module ddprun for Python (worker_sdk/python) reads
// them, too.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace env {
inline constexpr char kRank[] = "RANK";
inline constexpr char kLocalRank[] = "LOCAL_RANK";
inline constexpr char kWorldSize[] = "WORLD_SIZE";
inline constexpr char kLocalWorldSize[] = "LOCAL_WORLD_SIZE";
inline constexpr char kGroupRank[] = "GROUP_RANK";
inline constexpr char kGroupWorldSize[] = "GROUP_WORLD_SIZE";
inline constexpr char kRoleName[] = "ROLE_NAME";
inline constexpr char kRoleRank[] = "ROLE_RANK";
inline constexpr char kRoleWorldSize[] = "ROLE_WORLD_SIZE";
inline constexpr char kMasterAddr[] = "MASTER_ADDR";
inline constexpr char kMasterPort[] = "MASTER_PORT";
inline constexpr char kRestartCount[] = "TORCHELASTIC_RESTART_COUNT";
inline constexpr char kMaxRestarts[] = "TORCHELASTIC_MAX_RESTARTS";
inline constexpr char kRunId[] = "TORCHELASTIC_RUN_ID";
inline constexpr char kUseAgentStore[] = "TORCHELASTIC_USE_AGENT_STORE";
inline constexpr char kErrorFile[] = "TORCHELASTIC_ERROR_FILE";
inline constexpr char kSignalsToHandle[] = "TORCHELASTIC_SIGNALS_TO_HANDLE";
inline constexpr char kRound[] = "DDPRUN_ROUND";
inline constexpr char kHeartbeat[] = "DDPRUN_HEARTBEAT";
inline constexpr char kCheckpointSignal[] = "DDPRUN_CHECKPOINT_SIGNAL";
inline constexpr char kCheckpointFolder[] = "DDPRUN_CHECKPOINT_DIR";
inline constexpr char kControl[] = "DDPRUN_CONTROL";
inline constexpr char kParked[] = "DDPRUN_PARKED";
inline constexpr char kIntrospection[] = "DDPRUN_INTROSPECTION";
inline constexpr char kNcclAsyncErrorHandling[] = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
inline constexpr char kOmpNumThreads[] = "OMP_NUM_THREADS";
}  // namespace env

/// A variable of the environment is missing or makes no sense. what() names the variable, its value
/// and what was expected.
class EnvironmentError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the value of the variable `name`; nullopt when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Looks among the variables of this process.
std::optional<std::string> environment_lookup(const std::string& name);

/// This worker's place in the job, as its launcher has set it.
struct WorkerEnv {
  int rank = 0;        // among all workers of the job, from 0 to world_size - 1
  int local_rank = 0;  // among the workers of this node; also the number of this worker's GPU
  int world_size = 1;
  int local_world_size = 1;
  int group_rank = 0;        // the number of this node
  int group_world_size = 1;  // how many nodes there are
  std::string role_name = "default";
  int role_rank = 0;
  int role_world_size = 1;
  std::string master_addr;
  int master_port = 0;
  int restart_count = 0;  // how often the workers have been started again after a failure
  int max_restarts = 0;
  /// Grows each time that ddprun forms the job of other nodes; 0 under another launcher.
  int round = 0;
  std::string run_id;            // the job's name; "" when no launcher has set it
  bool use_agent_store = false;  // true: the launcher serves the store; false: rank 0 does

  /// Reads the environment of this process. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT must be
  /// set, as init_method="env://" demands
  /// (https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization).
  /// Under mpirun or mpiexec, rank and sizes are taken from the variables of Open MPI
  /// (OMPI_COMM_WORLD_RANK...) or of MPICH and Intel MPI (PMI_RANK...) when RANK and WORLD_SIZE are
  /// not set. The rest defaults to a job on one node. Errors: EnvironmentError.
  static WorkerEnv from_environment();

  /// Does the same with variables that `lookup` gives. Errors: EnvironmentError.
  static WorkerEnv from(const EnvironmentLookup& lookup);
};

}  // namespace ddprun::sdk
