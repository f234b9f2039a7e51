#include "ddprun/worker_env.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace ddprun::sdk {

namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

class Reader {
 public:
  explicit Reader(const EnvironmentLookup& lookup) : lookup_{lookup} {}

  std::string required(const std::string& name) const {
    const auto value = lookup_(name);
    if (!value || value->empty())
      throw EnvironmentError{
          name +
          " is not set: start this program with ddprun (or torchrun), or set "
          "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT yourself (mpirun tells the "
          "first two: mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=PORT)"};
    return *value;
  }
  int required_integer(const std::string& name, int least, int most) const {
    return integer(name, required(name), least, most);
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return lookup_(name).value_or(otherwise);
  }
  int integer_or(const std::string& name, int otherwise, int least, int most) const {
    const auto value = lookup_(name);
    return value && !value->empty() ? integer(name, *value, least, most) : otherwise;
  }

 private:
  static int integer(const std::string& name, const std::string& text, int least, int most) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
      return value;
    const std::string limit = most == kNoLimit ? " up" : " to " + std::to_string(most);
    throw EnvironmentError{name + " is '" + text + "', expected a whole number from " +
                           std::to_string(least) + limit};
  }

  const EnvironmentLookup& lookup_;
};

/// The variables in which one kind of launcher tells a worker its place.
struct PlaceNames {
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_world_size;
};

constexpr PlaceNames kLauncher{env::kRank, env::kWorldSize, env::kLocalRank, env::kLocalWorldSize};
constexpr PlaceNames kMpi[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};

const PlaceNames& names_of_place(const EnvironmentLookup& lookup) {
  if (lookup(env::kRank) || lookup(env::kWorldSize)) return kLauncher;
  for (const PlaceNames& names : kMpi)
    if (lookup(names.rank) && lookup(names.world_size)) return names;
  return kLauncher;
}

}  // namespace

std::optional<std::string> environment_lookup(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>{value} : std::nullopt;
}

WorkerEnv WorkerEnv::from_environment() { return from(environment_lookup); }

WorkerEnv WorkerEnv::from(const EnvironmentLookup& lookup) {
  const Reader read{lookup};
  WorkerEnv worker;
  const PlaceNames& names = names_of_place(lookup);
  worker.world_size = read.required_integer(names.world_size, 1, kNoLimit);
  worker.rank = read.required_integer(names.rank, 0, worker.world_size - 1);
  worker.master_addr = read.required(env::kMasterAddr);
  worker.master_port = read.required_integer(env::kMasterPort, 0, 65'535);
  // A launcher that does not know of nodes has all workers on this one. A node has more of them
  // than there are in the world while seats are vacant.
  worker.local_world_size = read.integer_or(names.local_world_size, worker.world_size, 1, kNoLimit);
  worker.local_rank = read.integer_or(names.local_rank, worker.rank % worker.local_world_size, 0,
                                      worker.local_world_size - 1);
  worker.group_world_size = read.integer_or(env::kGroupWorldSize, 1, 1, kNoLimit);
  worker.group_rank = read.integer_or(env::kGroupRank, 0, 0, worker.group_world_size - 1);
  worker.role_name = read.text(env::kRoleName, "default");
  worker.role_world_size =
      read.integer_or(env::kRoleWorldSize, worker.world_size, 1, worker.world_size);
  worker.role_rank = read.integer_or(env::kRoleRank, worker.rank, 0, worker.role_world_size - 1);
  worker.restart_count = read.integer_or(env::kRestartCount, 0, 0, kNoLimit);
  worker.max_restarts = read.integer_or(env::kMaxRestarts, 0, 0, kNoLimit);
  worker.round = read.integer_or(env::kRound, 0, 0, kNoLimit);
  worker.run_id = read.text(env::kRunId, "");
  // PyTorch compares the value with exactly this text, so "1" or "true" must not count here either.
  worker.use_agent_store = read.text(env::kUseAgentStore, "") == "True";
  return worker;
}

}  // namespace ddprun::sdk
