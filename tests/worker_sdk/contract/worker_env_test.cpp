#include "ddprun/worker_env.hpp"

#include <map>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

using Variables = std::map<std::string, std::string>;

WorkerEnv read(const Variables& variables) {
  return WorkerEnv::from([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

std::string error(Variables changes) {
  Variables variables{
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}};
  changes.merge(variables);
  try {
    read(changes);
  } catch (const EnvironmentError& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("a worker of ddprun finds its place in the job") {
  const WorkerEnv worker = read({{"RANK", "5"},
                                 {"LOCAL_RANK", "1"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_WORLD_SIZE", "4"},
                                 {"GROUP_RANK", "1"},
                                 {"GROUP_WORLD_SIZE", "2"},
                                 {"ROLE_NAME", "trainer"},
                                 {"ROLE_RANK", "5"},
                                 {"ROLE_WORLD_SIZE", "8"},
                                 {"MASTER_ADDR", "10.0.0.1"},
                                 {"MASTER_PORT", "4000"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                 {"DDPRUN_ROUND", "5"},
                                 {"TORCHELASTIC_MAX_RESTARTS", "3"},
                                 {"TORCHELASTIC_RUN_ID", "job7"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(worker.rank == 5);
  CHECK(worker.local_rank == 1);
  CHECK(worker.world_size == 8);
  CHECK(worker.local_world_size == 4);
  CHECK(worker.group_rank == 1);
  CHECK(worker.group_world_size == 2);
  CHECK(worker.role_name == "trainer");
  CHECK(worker.role_rank == 5);
  CHECK(worker.role_world_size == 8);
  CHECK(worker.master_addr == "10.0.0.1");
  CHECK(worker.master_port == 4000);
  CHECK(worker.restart_count == 2);
  CHECK(worker.max_restarts == 3);
  CHECK(worker.round == 5);
  CHECK(worker.run_id == "job7");
  CHECK(worker.use_agent_store);
}

TEST_CASE("a node has more workers than the world while others start in their seats") {
  const WorkerEnv worker = read({{"RANK", "1"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_RANK", "2"},
                                 {"LOCAL_WORLD_SIZE", "3"},
                                 {"MASTER_ADDR", "localhost"},
                                 {"MASTER_PORT", "29500"}});
  CHECK(worker.local_rank == 2);
  CHECK(worker.local_world_size == 3);
}

TEST_CASE("four variables set by hand are enough") {
  const WorkerEnv worker = read(
      {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}});
  CHECK(worker.local_rank == 2);
  CHECK(worker.local_world_size == 4);
  CHECK(worker.restart_count == 0);
  CHECK_FALSE(worker.use_agent_store);
}

TEST_CASE("mpirun's variables are taken where the launcher's are missing") {
  const Variables address{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "5"},
                     {"OMPI_COMM_WORLD_SIZE", "8"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  open_mpi.insert(address.begin(), address.end());
  const WorkerEnv worker = read(open_mpi);
  CHECK(worker.rank == 5);
  CHECK(worker.world_size == 8);
  CHECK(worker.local_rank == 1);
  CHECK(worker.local_world_size == 4);

  Variables mpich{
      {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}};
  mpich.insert(address.begin(), address.end());
  CHECK(read(mpich).rank == 2);
  CHECK(read(mpich).local_rank == 0);

  open_mpi["RANK"] = "0";
  open_mpi["WORLD_SIZE"] = "1";
  CHECK(read(open_mpi).rank == 0);
  open_mpi.erase("RANK");
  CHECK_THROWS_WITH(read(open_mpi), contains("RANK is not set"));
}

TEST_CASE("the agent's store is used for exactly the text that PyTorch uses it for") {
  Variables variables{
      {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "1"}};
  for (const char* text : {"1", "true", "False", ""}) {
    variables["TORCHELASTIC_USE_AGENT_STORE"] = text;
    CHECK_FALSE(read(variables).use_agent_store);
  }
}

TEST_CASE("a missing or wrong variable is named, with its value and what was expected") {
  CHECK_THAT(error({{"RANK", ""}}), contains("RANK is not set: start this program with ddprun"));
  CHECK(error({{"RANK", "4"}}) == "RANK is '4', expected a whole number from 0 to 3");
  CHECK(error({{"RANK", "-1"}}) == "RANK is '-1', expected a whole number from 0 to 3");
  CHECK(error({{"WORLD_SIZE", "two"}}) == "WORLD_SIZE is 'two', expected a whole number from 1 up");
  CHECK(error({{"WORLD_SIZE", "4x"}}) == "WORLD_SIZE is '4x', expected a whole number from 1 up");
  CHECK(error({{"MASTER_PORT", "70000"}}) ==
        "MASTER_PORT is '70000', expected a whole number from 0 to 65535");
  CHECK_THAT(error({{"MASTER_ADDR", ""}}), contains("MASTER_ADDR is not set"));
  CHECK(error({{"LOCAL_WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}) ==
        "LOCAL_RANK is '2', expected a whole number from 0 to 1");
}

}  // namespace
}  // namespace ddprun::sdk
