#include "agent/workers/worker_plan.hpp"

#include <map>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

LaunchSpec four_workers() {
  LaunchSpec spec;
  spec.program = "/usr/bin/python3";
  spec.arguments = {"python3", "-u", "train.py"};
  spec.workers = 4;
  spec.role = "trainer";
  spec.terms.restarts_max = 3;
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

TEST_CASE("every worker knows where its own heartbeats go, and not those of an agent above") {
  const auto commands =
      plan_workers(four_workers(), kSecondNode, {.paths = {.heartbeats = "/proc/7/fd/3"}});
  CHECK(environment_of(commands[0])["DDPRUN_HEARTBEAT"] == "/proc/7/fd/3:0");
  CHECK(environment_of(commands[3])["DDPRUN_HEARTBEAT"] == "/proc/7/fd/3:3");
  const auto without =
      plan_workers(four_workers(), kSecondNode,
                   {.machine = {.environment = {"DDPRUN_HEARTBEAT=/proc/1/fd/3:0"}}});
  CHECK_FALSE(environment_of(without[0]).contains("DDPRUN_HEARTBEAT"));
}

TEST_CASE("every worker knows which signal asks it for a checkpoint") {
  LaunchSpec spec = four_workers();
  spec.preemption.checkpoint_signal = SIGRTMIN;
  const NodeFacts node{
      .machine = {.environment = {"DDPRUN_CHECKPOINT_SIGNAL=9"}}};  // from an agent above this one
  for (const Command& command : plan_workers(spec, kSecondNode, node))
    CHECK(environment_of(command)["DDPRUN_CHECKPOINT_SIGNAL"] == std::to_string(SIGRTMIN));
}

TEST_CASE("no worker gets the job's secret") {
  const NodeFacts node{.machine = {.environment = {"HOME=/root", "DDPRUN_SECRET=abc"}}};
  for (const Command& command : plan_workers(four_workers(), kSecondNode, node))
    CHECK_FALSE(environment_of(command).contains("DDPRUN_SECRET"));
  for (const std::string& entry : common_environment(four_workers(), node).environment)
    CHECK_FALSE(entry.starts_with("DDPRUN_SECRET"));
}

TEST_CASE("every worker gets torchrun's variables") {
  NodeFacts node{.machine = {{"HOME=/root"}, 8}, .paths = {"/tmp/e"}};
  node.run.run_id = "job7";
  const auto commands = plan_workers(four_workers(), kSecondNode, node);
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
            {"DDPRUN_ROUND", "3"},
            {"DDPRUN_CHECKPOINT_SIGNAL", std::to_string(SIGUSR1)},
            {"TORCHELASTIC_RESTART_COUNT", "2"},
            {"TORCHELASTIC_MAX_RESTARTS", "3"},
            {"TORCHELASTIC_RUN_ID", "job7"},
            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
            {"TORCHELASTIC_ERROR_FILE", "/tmp/e/attempt_2/2/error.json"},
            {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
            {"OMP_NUM_THREADS", "2"},
            {"PYTHONFAULTHANDLER", "1"},
        });
}

TEST_CASE("no proxy gets what a training tells on this machine, with its token") {
  NodeFacts node;
  node.endpoints.trainer_url = "http://127.0.0.1:1";
  const auto spared = [&node](std::vector<std::string> variables) {
    node.machine.environment = std::move(variables);
    return environment_of(plan_workers(four_workers(), kSecondNode, node)[0]);
  };
  auto environment = spared({"http_proxy=http://p:3128"});
  CHECK(environment["no_proxy"] == "127.0.0.1");
  CHECK(environment["NO_PROXY"] == "127.0.0.1");
  environment = spared({"ALL_PROXY=http://p:3128", "NO_PROXY=.corp,10.0.0.0/8"});
  CHECK(environment["no_proxy"] == ".corp,10.0.0.0/8,127.0.0.1");
  CHECK(environment["NO_PROXY"] == environment["no_proxy"]);
  CHECK(spared({"HTTP_PROXY=http://p:3128", "no_proxy=*"})["no_proxy"] == "*");
  CHECK_FALSE(spared({"https_proxy=http://p:3128"}).contains("no_proxy"));
  node.endpoints.trainer_url.clear();
  CHECK_FALSE(spared({"http_proxy=http://p:3128"}).contains("no_proxy"));
}

TEST_CASE("without introspection a worker has torchrun's variables and no other") {
  LaunchSpec spec = four_workers();
  spec.introspection.on = false;
  const auto without = environment_of(plan_workers(spec, kSecondNode, {.machine = {{}, 8}})[0]);
  CHECK_FALSE(without.contains("PYTHONFAULTHANDLER"));
  CHECK_FALSE(without.contains("PYTHONPATH"));
}

TEST_CASE("a worker's Python finds the hook before what the user has put on its path") {
  NodeFacts node{.machine = {{}, 8}};
  node.paths.watch_folder = "/tmp/w";
  auto first = environment_of(plan_workers(four_workers(), kSecondNode, node)[0]);
  CHECK(first["PYTHONPATH"] == "/tmp/w");
  CHECK(first["DDPRUN_INTROSPECTION"] == "/tmp/w/3.0");
  node.machine.environment = {"PYTHONPATH=/a:/b", "PYTHONFAULTHANDLER=0",
                              "DDPRUN_INTROSPECTION=outer"};
  first = environment_of(plan_workers(four_workers(), kSecondNode, node)[0]);
  CHECK(first["PYTHONPATH"] == "/tmp/w:/a:/b");
  CHECK(first["PYTHONFAULTHANDLER"] == "0");
  CHECK(first["DDPRUN_INTROSPECTION"] == "/tmp/w/3.0");
  const auto common = common_environment(four_workers(), node);
  CHECK(std::ranges::count(common.environment, "PYTHONPATH=/a:/b") == 1);  // the fork server's
}

TEST_CASE("an outer job's ranks do not reach the workers") {
  const auto commands = plan_workers(four_workers(), kSecondNode, {.machine = {{"RANK=99"}, 8}});
  CHECK(environment_of(commands[0])["RANK"] == "4");
}

TEST_CASE("what the user has set for the libraries stays") {
  const NodeFacts node{.machine = {{"OMP_NUM_THREADS=7", "TORCH_NCCL_ASYNC_ERROR_HANDLING=0"}, 8}};
  auto environment = environment_of(plan_workers(four_workers(), kSecondNode, node)[0]);
  CHECK(environment["OMP_NUM_THREADS"] == "7");
  CHECK(environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "0");
}

TEST_CASE("a single worker may use all CPUs, and many workers at least one each") {
  LaunchSpec spec = four_workers();
  auto crowded = environment_of(plan_workers(spec, kSecondNode, {.machine = {{}, 2}})[0]);
  CHECK(crowded["OMP_NUM_THREADS"] == "1");
  spec.workers = 1;
  CHECK(environment_of(plan_workers(spec, kSecondNode, {.machine = {{}, 2}})[0])
            .count("OMP_NUM_THREADS") == 0);
}

TEST_CASE("${local_rank} in arguments is replaced, other dollars are left alone") {
  LaunchSpec spec = four_workers();
  spec.arguments = {"prog${local_rank}", "--out=${local_rank}/${local_rank}.txt", "$HOME",
                    "${rank}"};
  const auto commands = plan_workers(spec, kSecondNode, {.machine = {{}, 1}});
  CHECK(commands[3].arguments ==
        std::vector<std::string>{"prog${local_rank}", "--out=3/3.txt", "$HOME", "${rank}"});
}

TEST_CASE("error files of different rounds are different files") {
  StartRound next = kSecondNode;
  ++next.round;  // a lost node: the attempt is the same
  const NodeFacts node{.machine = {{}, 1}, .paths = {"/tmp/e"}};
  CHECK(error_file(node, kSecondNode, 0) != error_file(node, next, 0));
  CHECK(error_file({.machine = {{}, 1}}, kSecondNode, 0).empty());
}

TEST_CASE(
    "with virtual local ranks every worker has rank 0 and one GPU of those that ddprun sees") {
  LaunchSpec spec = four_workers();
  spec.virtual_local_rank = true;
  const auto unset = plan_workers(spec, kSecondNode, {});
  CHECK(environment_of(unset[2])["LOCAL_RANK"] == "0");
  CHECK(environment_of(unset[2])["RANK"] == "6");
  CHECK(environment_of(unset[2])["CUDA_VISIBLE_DEVICES"] == "2");
  const auto listed = plan_workers(spec, kSecondNode,
                                   {.machine = {.environment = {"CUDA_VISIBLE_DEVICES=7,5,3,1"}}});
  CHECK(environment_of(listed[2])["CUDA_VISIBLE_DEVICES"] == "3");
  const auto ended = plan_workers(spec, kSecondNode,
                                  {.machine = {.environment = {"CUDA_VISIBLE_DEVICES=7,5,-1,1"}}});
  CHECK(environment_of(ended[1])["CUDA_VISIBLE_DEVICES"] == "5");
  CHECK(environment_of(ended[3])["CUDA_VISIBLE_DEVICES"].empty());
}

TEST_CASE("workers carry the marks of all agents above them") {
  const auto first = plan_workers(four_workers(), kSecondNode, {.mark = "inner"});
  CHECK(environment_of(first[0])["DDPRUN_JOB"] == "inner");
  const auto nested =
      plan_workers(four_workers(), kSecondNode,
                   {.machine = {.environment = {"DDPRUN_JOB=outer"}}, .mark = "inner"});
  CHECK(environment_of(nested[0])["DDPRUN_JOB"] == "outer:inner");
}

TEST_CASE("output goes to the terminal, to files or to both, as the user wants for each rank") {
  LaunchSpec spec = four_workers();
  spec.logs.redirects = {{true, false}, {}, {}, {}};
  spec.logs.tee = {{}, {true, true}, {true, false}, {}};
  spec.logs.shown_ranks = {0, 1};
  spec.logs.out_filters = {"loss"};
  const NodeFacts node{.machine = {.terminals = {true, false}}, .paths = {"/logs"}};
  const auto plan = [&](int local_rank) {
    return plan_output(spec, kSecondNode, node, local_rank);
  };
  CHECK(plan(0).out.direct());
  CHECK(plan(0).out.file == "/logs/attempt_2/0/stdout.log");
  CHECK(plan(0).err.shown);
  CHECK(plan(0).err.file.empty());
  CHECK(plan(1).out.shown);
  CHECK(plan(1).out.prefix == "[trainer1]:");
  CHECK(plan(1).out.file == "/logs/attempt_2/1/stdout.log");
  CHECK(plan(1).out.filtered_file == "/logs/attempt_2/filtered_stdout.log");
  CHECK(plan(1).out.filters == std::vector<std::string>{"loss"});
  CHECK(plan(1).err.filters.empty());
  CHECK(plan(2).out.direct());
  CHECK(plan(2).out.filters.empty());
  CHECK_FALSE(plan(3).out.shown);
  CHECK(plan(3).out.file.empty());
  spec.logs.no_files = true;
  CHECK(plan(1).out.file.empty());
  CHECK(plan(1).out.prefix.empty());
}

TEST_CASE(
    "workers see a terminal where ddprun does, unless their output is teed or somebody says so") {
  LaunchSpec spec = four_workers();
  const NodeFacts node{.machine = {.terminals = {true, false}}, .paths = {"/logs"}};
  const auto plan = [&] { return plan_output(spec, kSecondNode, node, 0); };
  CHECK(plan().out.terminal);
  CHECK_FALSE(plan().err.terminal);
  spec.pty = Pty::kAlways;
  CHECK(plan().err.terminal);
  spec.pty = Pty::kNever;
  CHECK_FALSE(plan().out.terminal);
  spec.pty = Pty::kAsOurs;
  spec.logs.tee.assign(4, {true, true});
  CHECK_FALSE(plan().out.terminal);
  spec.logs.tee.assign(4, {false, true});
  const NodeFacts two_terminals{.machine = {.terminals = {true, true}}, .paths = {"/logs"}};
  const OutputPlan err_teed = plan_output(spec, kSecondNode, two_terminals, 0);
  CHECK(err_teed.out.terminal);
  CHECK_FALSE(err_teed.err.terminal);
}

TEST_CASE("streams in files are stamped and rotated, and what is shown is folded") {
  LaunchSpec spec = four_workers();
  spec.logs.redirects.assign(4, {true, false});
  spec.logs.timestamps = true;
  spec.logs.rotation = {1000, 3};
  spec.logs.fold = true;
  const OutputPlan plan = plan_output(spec, kSecondNode, {.paths = {"/logs"}}, 0);
  CHECK(plan.out.stamped);
  CHECK(plan.out.rotation == RotationRule{1000, 3});
  CHECK_FALSE(plan.out.direct());
  CHECK_FALSE(plan.out.folded);
  CHECK_FALSE(plan.err.stamped);
  CHECK(plan.err.rotation == RotationRule{});
  CHECK(plan.err.folded);
}

TEST_CASE("folded lines name the ranks that said them, by whatever template") {
  LaunchSpec spec = four_workers();
  NodeFacts node;
  node.run.host = "h2";
  CHECK(fold_label(spec, node, {4, 5, 7}, {0, 1, 3}) == "[4-5,7] ");
  spec.logs.fold_template = "${hostname} ${role_name}${local_rank}: ";
  CHECK(fold_label(spec, node, {4, 5, 7}, {0, 1, 3}) == "h2 trainer0-1,3: ");
}

}  // namespace
}  // namespace ddprun
