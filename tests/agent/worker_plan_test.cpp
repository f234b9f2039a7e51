#include "agent/worker_plan.hpp"

#include <map>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

LaunchSpec four_workers() {
  LaunchSpec spec;
  spec.program = "/usr/bin/python3";
  spec.arguments = {"python3", "-u", "train.py"};
  spec.workers = 4;
  spec.run_id = "job7";
  spec.role = "trainer";
  spec.rules.restarts_max = 3;
  return spec;
}

const StartRound kSecondNode{.round = 3,
                             .attempt = 2,
                             .group_rank = 1,
                             .group_world_size = 2,
                             .first_rank = 4,
                             .world_size = 8,
                             .first_role_rank = 4,
                             .role_world_size = 8,
                             .master_addr = "10.0.0.1",
                             .master_port = 4000};

std::map<std::string, std::string> environment_of(const Command& command) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : command.environment) {
    const auto equals = entry.find('=');
    out[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return out;
}

TEST_CASE("every worker gets torchrun's variables") {
  const auto commands = plan_workers(four_workers(), kSecondNode, {{"HOME=/root"}, 8, "/tmp/e"});
  REQUIRE(commands.size() == 4);
  CHECK(environment_of(commands[2]) ==
        std::map<std::string, std::string>{
            {"HOME", "/root"},
            {"RANK", "6"},
            {"LOCAL_RANK", "2"},
            {"WORLD_SIZE", "8"},
            {"LOCAL_WORLD_SIZE", "4"},
            {"GROUP_RANK", "1"},
            {"GROUP_WORLD_SIZE", "2"},
            {"ROLE_NAME", "trainer"},
            {"ROLE_RANK", "6"},
            {"ROLE_WORLD_SIZE", "8"},
            {"MASTER_ADDR", "10.0.0.1"},
            {"MASTER_PORT", "4000"},
            {"TORCHELASTIC_RESTART_COUNT", "2"},
            {"TORCHELASTIC_MAX_RESTARTS", "3"},
            {"TORCHELASTIC_RUN_ID", "job7"},
            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
            {"TORCHELASTIC_ERROR_FILE", "/tmp/e/attempt_2/2/error.json"},
            {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
            {"OMP_NUM_THREADS", "2"},
        });
}

TEST_CASE("an outer job's ranks do not reach the workers") {
  const auto commands = plan_workers(four_workers(), kSecondNode, {{"RANK=99"}, 8, ""});
  CHECK(environment_of(commands[0])["RANK"] == "4");
}

TEST_CASE("what the user has set for the libraries stays") {
  const NodeFacts node{{"OMP_NUM_THREADS=7", "TORCH_NCCL_ASYNC_ERROR_HANDLING=0"}, 8, ""};
  auto environment = environment_of(plan_workers(four_workers(), kSecondNode, node)[0]);
  CHECK(environment["OMP_NUM_THREADS"] == "7");
  CHECK(environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "0");
}

TEST_CASE("a single worker may use all CPUs, and many workers at least one each") {
  LaunchSpec spec = four_workers();
  auto crowded = environment_of(plan_workers(spec, kSecondNode, {{}, 2, ""})[0]);
  CHECK(crowded["OMP_NUM_THREADS"] == "1");
  spec.workers = 1;
  CHECK(environment_of(plan_workers(spec, kSecondNode, {{}, 2, ""})[0]).count("OMP_NUM_THREADS") ==
        0);
}

TEST_CASE("${local_rank} in arguments is replaced, other dollars are left alone") {
  LaunchSpec spec = four_workers();
  spec.arguments = {"prog${local_rank}", "--out=${local_rank}/${local_rank}.txt", "$HOME",
                    "${rank}"};
  const auto commands = plan_workers(spec, kSecondNode, {{}, 1, ""});
  CHECK(commands[3].arguments ==
        std::vector<std::string>{"prog${local_rank}", "--out=3/3.txt", "$HOME", "${rank}"});
}

TEST_CASE("error files of different rounds are different files") {
  StartRound next = kSecondNode;
  ++next.round;  // a lost node: the attempt is the same
  const NodeFacts node{{}, 1, "/tmp/e"};
  CHECK(error_file(node, kSecondNode, 0) != error_file(node, next, 0));
  CHECK(error_file({{}, 1, ""}, kSecondNode, 0).empty());
}

}  // namespace
}  // namespace ddprun
