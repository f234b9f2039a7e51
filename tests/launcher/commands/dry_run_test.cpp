// What --dry-run tells of the ranks of a job on several nodes.
#include "launcher/run/dry_run.hpp"

#include <map>

#include "launcher/commands/command_line.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr char kOpen[] = "='<set when the nodes have met>'";

/// The text of --dry-run for `true` with these options.
std::string shown(Words words, const Variables& variables = {}) {
  words.insert(words.end(), {"--no-python", "true"});
  const auto environment = [&](const std::string& name) {
    if (name == "PATH") return std::optional<std::string>{"/bin:/usr/bin"};
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
  const auto parsed = parse_command_line(words, local_system(environment, 2));
  if (!parsed) FAIL(parsed.error().message);
  const auto& job = std::get<Launch>(*parsed);
  return dry_run(job.spec, {}, job.workers_of_nodes);
}

TEST_CASE("a dry run of a node with a rank shows the ranks that its workers will have") {
  const std::string text =
      shown({"--nnodes=2", "--node-rank=1", "--master-addr=h1", "--nproc-per-node=2"});
  CHECK_THAT(text, contains("# rank 2\nenv "));
  CHECK_THAT(text, contains("# rank 3\nenv "));
  CHECK_THAT(text, contains(" GROUP_RANK=1 GROUP_WORLD_SIZE=2 "));
  CHECK_THAT(text, contains(" RANK=3 ROLE_NAME=default ROLE_RANK=3 ROLE_WORLD_SIZE=4 "));
  CHECK_THAT(text, contains(" WORLD_SIZE=4 "));
}

TEST_CASE("a dry run counts the workers of the nodes before its own") {
  const std::string text =
      shown({"--nnodes=3", "--node-rank=2", "--master-addr=h1", "--nproc-per-node=4,2,1"});
  CHECK_THAT(text, contains(" RANK=6 ROLE_NAME=default ROLE_RANK=6 ROLE_WORLD_SIZE=7 "));
}

TEST_CASE("a dry run takes the rank and the number of nodes from Slurm") {
  const Variables step{{"SLURM_JOB_ID", "12"},        {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "h[1-2]"},
                       {"SLURM_JOB_NUM_NODES", "2"},  {"SLURM_NODEID", "1"},
                       {"SLURM_GTIDS", "1"}};
  const std::string text = shown({"--nproc-per-node=2"}, step);
  CHECK_THAT(text, contains(" GROUP_RANK=1 GROUP_WORLD_SIZE=2 "));
  CHECK_THAT(text, contains(" RANK=2 "));
  CHECK_THAT(text, contains(" WORLD_SIZE=4 "));
}

TEST_CASE("a dry run names what is known only when the nodes have met") {
  const Words c10d{"--rdzv-backend=c10d", "--rdzv-endpoint=h1", "--nproc-per-node=2"};
  const auto with = [&](const char* nodes) {
    Words words = c10d;
    words.emplace_back(nodes);
    return shown(words);
  };
  const std::string fixed = with("--nnodes=2");
  CHECK_THAT(fixed, contains("# local rank 1\nenv "));
  CHECK_THAT(fixed, contains(std::string{" GROUP_RANK"} + kOpen + " GROUP_WORLD_SIZE=2 "));
  CHECK_THAT(fixed, contains(std::string{" RANK"} + kOpen));
  CHECK_THAT(fixed, contains(" WORLD_SIZE=4 "));
  const std::string elastic = with("--nnodes=2:4");
  CHECK_THAT(elastic, contains(std::string{" GROUP_WORLD_SIZE"} + kOpen));
  CHECK_THAT(elastic, contains(std::string{" WORLD_SIZE"} + kOpen));
}

TEST_CASE("a dry run does not guess how many workers other nodes count") {
  const Words words{"--nnodes=2", "--master-addr=h1", "--nproc-per-node=cpu"};
  CHECK_THAT(shown(words), contains(" RANK=0 "));
  CHECK_THAT(shown(words), contains(std::string{" WORLD_SIZE"} + kOpen));
}

TEST_CASE("a dry run of one node knows all numbers") {
  const std::string text = shown({"--nproc-per-node=cpu"});
  CHECK_THAT(text, !contains("when the nodes have met"));
  CHECK_THAT(text, contains(" WORLD_SIZE=2 "));
}

}  // namespace
}  // namespace ddprun
