#include "launcher/environments/cluster_env.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>

#include "launcher/commands/command_line.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// As a task on the third node of three found it (Slurm 22.05).
const Variables kSlurmTask{
    {"SLURM_JOB_ID", "12"},         {"SLURM_STEP_ID", "0"},       {"SLURM_STEP_NODELIST", "h[0-2]"},
    {"SLURM_STEP_NUM_NODES", "3"},  {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_NODEID", "2"},
    {"SLURM_GTIDS", "2"},           {"SLURM_CPUS_ON_NODE", "4"},  {"SLURM_GPUS_ON_NODE", "2"},
    {"CUDA_VISIBLE_DEVICES", "0,1"}};
const Variables kBatchScript{{"SLURM_JOB_ID", "12"},         {"SLURM_JOB_NUM_NODES", "2"},
                             {"SLURM_NODEID", "0"},          {"SLURM_PROCID", "0"},
                             {"SLURM_NTASKS_PER_NODE", "4"}, {"SLURM_CPUS_ON_NODE", "72"}};
// mpirun -N 1 of Open MPI 4.1.
const Variables kOpenMpi{
    {"OMPI_COMM_WORLD_SIZE", "2"},
    {"OMPI_COMM_WORLD_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
    {"PMIX_NAMESPACE", "807600129"},
    {"OMPI_MCA_orte_hnp_uri", "8076.0;tcp://10.77.0.1,192.0.2.2:49301;tcp6://[fd00::2]:5"}};

class ClusterFixture {
 protected:
  ClusterFixture() { std::ofstream{folder_.path() / "train"}; }

  void in(Variables variables) { variables_ = std::move(variables); }
  Result<CommandLine> parse(Words options) {
    options.insert(options.end(), {"--no-python", "/bin/true"});
    LocalSystem here = local_system(lookup(), 8);
    here.online_cpus = [] { return 72; };
    here.process_group = [this] { return process_group_; };
    return parse_command_line(options, here);
  }
  EnvironmentLookup lookup() const {
    return [this](const std::string& name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional{found->second};
    };
  }
  Launch launch(const Words& options = {}) {
    const auto parsed = parse(options);
    if (!parsed) FAIL(parsed.error().message);
    REQUIRE(std::holds_alternative<Launch>(*parsed));
    return std::get<Launch>(*parsed);
  }
  LaunchSpec spec(const Words& options = {}) { return launch(options).spec; }
  StepStart start(const Words& options = {}) {
    const auto parsed = parse(options);
    if (!parsed) FAIL(parsed.error().message);
    REQUIRE(std::holds_alternative<StepStart>(*parsed));
    return std::get<StepStart>(*parsed);
  }
  std::string error(const Words& options = {}) {
    const auto parsed = parse(options);
    REQUIRE(parsed.has_error());
    return parsed.error().message;
  }

  ScratchFolder folder_;
  Variables variables_;
  int process_group_ = 0;
};

TEST_CASE_METHOD(ClusterFixture, "a Slurm step tells nodes, rank, endpoint and run id") {
  in(kSlurmTask);
  const LaunchSpec s = spec();
  CHECK(s.terms.nodes_min == 3);
  CHECK(s.terms.nodes_max == 3);
  CHECK(s.meeting.node_rank == 2);
  CHECK(s.meeting.coordinator.host == "h0");
  CHECK(s.meeting.coordinator.port == 16'384 + 12 * 4);
  CHECK(s.meeting.run_id == "12.0");
  CHECK(s.meeting.hosting == Hosting::kElsewhere);
  CHECK(s.preemption.signals == std::vector{SIGUSR1, SIGTERM});
  variables_["SLURM_NODEID"] = "0";
  CHECK(spec().meeting.hosting == Hosting::kHere);
  CHECK_THAT(launch().cluster,
             contains("Slurm job 12: node 0 of 3, coordinator at h0:16432, run id 12.0"));
}

TEST_CASE_METHOD(ClusterFixture, "where all nodes write to one terminal, lines name their host") {
  in(kSlurmTask);
  CHECK(spec({"--tee", "3"}).logs.prefix_template == "[${hostname}:${role_name}${local_rank}]:");
  CHECK(spec({"--tee", "3", "--log-line-prefix-template", "mine "}).logs.prefix_template ==
        "mine ");
  CHECK(spec({"--tee", "3", "--no-slurm"}).logs.prefix_template == "[${role_name}${local_rank}]:");
}

TEST_CASE_METHOD(ClusterFixture, "a requeued job has another run id, another step another port") {
  in(kSlurmTask);
  variables_["SLURM_RESTART_COUNT"] = "1";
  CHECK(spec().meeting.run_id == "12.1");
  variables_["SLURM_STEP_ID"] = "1";
  CHECK(spec().meeting.coordinator.port == 16'384 + 12 * 4 + 1);
  variables_["SLURM_JOB_ID"] = "13";
  CHECK(spec().meeting.coordinator.port == 16'384 + 13 * 4 + 1);
}

TEST_CASE_METHOD(ClusterFixture, "an option given by hand wins over Slurm") {
  in(kSlurmTask);
  const LaunchSpec elastic = spec({"--nnodes", "2:8", "--rdzv-id", "mine"});
  CHECK(elastic.terms.nodes_min == 2);
  CHECK(elastic.terms.nodes_max == 3);  // more cannot come
  CHECK(elastic.meeting.run_id == "mine");
  const LaunchSpec by_hand =
      spec({"--nnodes=3", "--rdzv-backend=c10d", "--rdzv-endpoint=h1:29500"});
  CHECK(by_hand.meeting.coordinator.host == "h1");
  CHECK(by_hand.meeting.coordinator.port == 29'500);
  CHECK(by_hand.meeting.hosting == Hosting::kAtEndpoint);
  CHECK(by_hand.meeting.node_rank == -1);
  const LaunchSpec fixed = spec({"--master-addr", "h0"});
  CHECK(fixed.meeting.node_rank == 2);
  CHECK(fixed.meeting.coordinator.host == "h0");
  CHECK(fixed.meeting.hosting == Hosting::kElsewhere);
  CHECK(spec({"--preempt-signal", ""}).preemption.signals.empty());
  CHECK_THAT(error({"--nnodes", "4"}),
             contains("--nnodes '4': Slurm job 12 has started ddprun on 3"));
}

TEST_CASE_METHOD(ClusterFixture,
                 "a time given for a checkpoint holds after SIGTERM, not in Slurm") {
  in(kSlurmTask);
  const auto in_slurm = spec({"--preempt-timeout", "240"}).preemption;
  CHECK(in_slurm.timeout == 240s);
  CHECK(in_slurm.timeout_after_sigterm == 20s);
  const auto outside = spec({"--no-slurm", "--preempt-timeout", "240"}).preemption;
  CHECK(outside.timeout_after_sigterm == 240s);
  CHECK(spec({"--no-slurm"}).preemption.timeout_after_sigterm == 20s);
  CHECK(spec({"--preempt-timeout", "5"}).preemption.timeout_after_sigterm == 5s);
}

TEST_CASE_METHOD(ClusterFixture, "with --no-slurm or --standalone, Slurm's nodes are left alone") {
  in(kSlurmTask);
  CHECK(spec({"--no-slurm"}).terms.nodes_max == 1);
  CHECK(spec({"--no-slurm"}).meeting.run_id == "none");
  CHECK(spec({"--no-slurm"}).preemption.signals.empty());
  CHECK(spec({"--standalone"}).terms.nodes_max == 1);
}

TEST_CASE_METHOD(ClusterFixture, "auto and gpu count what Slurm grants") {
  in(kSlurmTask);
  CHECK(spec({"--nproc-per-node", "gpu"}).workers == 2);
  variables_["CUDA_VISIBLE_DEVICES"] = "1";
  CHECK(spec({"--nproc-per-node", "auto"}).workers == 1);
  variables_["CUDA_VISIBLE_DEVICES"] = "";
  CHECK_THAT(error({"--nproc-per-node", "gpu"}), contains("no GPU is visible here"));
  CHECK(spec({"--nproc-per-node", "auto"}).workers == 4);  // SLURM_CPUS_ON_NODE
  variables_["CUDA_VISIBLE_DEVICES"] = "-1";
  CHECK_THAT(error({"--nproc-per-node", "gpu"}), contains("no GPU is visible here"));
  variables_["SLURM_GPUS_ON_NODE"] = "4";
  variables_["CUDA_VISIBLE_DEVICES"] = "0,1,-1,2";
  CHECK(spec({"--nproc-per-node", "gpu"}).workers == 2);
  variables_.erase("SLURM_GPUS_ON_NODE");
  CHECK(spec({"--nproc-per-node", "auto"}).workers == 4);  // SLURM_CPUS_ON_NODE
}

TEST_CASE_METHOD(ClusterFixture, "workers that share fewer CPUs than they are get a line") {
  in(kSlurmTask);
  variables_["SLURM_CPUS_ON_NODE"] = "1";
  CHECK(
      launch({"--nproc-per-node=4"}).warnings ==
      Words{"4 workers share 1 of this machine's 72 CPUs: ask for more (--cpus-per-task of Slurm, "
            "resources.limits.cpu of Kubernetes)"});
  CHECK(launch({"--nproc-per-node=1"}).warnings.empty());
  variables_.clear();  // no scheduler, and an affinity mask of 8
  CHECK(launch({"--nproc-per-node=8"}).warnings.empty());
  CHECK_THAT(launch({"--nproc-per-node=9"}).warnings.front(), contains("9 workers share 8 of"));
}

TEST_CASE_METHOD(ClusterFixture,
                 "several ddprun on one node get a message with the option to change") {
  in(kSlurmTask);
  variables_["SLURM_GTIDS"] = "0,1,2,3";
  CHECK_THAT(error(), contains("srun has started 4 ddprun on this node"));
  CHECK_THAT(error(), contains("--ntasks-per-node=1"));
  variables_["SLURM_GTIDS"] = "0,1";
  CHECK_THAT(error(), contains("srun has started 2 ddprun on this node"));
  in(kOpenMpi);
  variables_["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  CHECK_THAT(error(), contains("mpirun has started 2 ddprun on this node"));
  CHECK_THAT(error(), contains("-N 1"));
}

TEST_CASE_METHOD(ClusterFixture, "a job of each alone needs no place among the others") {
  in(kSlurmTask);
  variables_["SLURM_GTIDS"] = "0,1,2,3";
  CHECK_THAT(error(), contains("--standalone"));
  CHECK_THAT(error({"--nnodes=2"}), contains("srun has started 4 ddprun"));
  for (const char* alone : {"--standalone", "--nnodes=1"}) {
    CHECK(spec({alone}).terms.nodes_max == 1);
    CHECK_FALSE(spec({alone}).preemption.signals.empty());
    CHECK(launch({alone}).cluster.empty());
  }
  const Words elsewhere{"--nnodes=4", "--rdzv-backend=c10d", "--rdzv-endpoint=h9:29400"};
  CHECK(spec(elsewhere).meeting.coordinator == Endpoint{"h9", 29400});
  variables_["SLURM_GTIDS"] = "0";
  variables_["SLURM_STEP_NODELIST"] = "h[";
  CHECK_THAT(error(), contains("SLURM_STEP_NODELIST") && contains("with --standalone"));
  CHECK(spec({"--standalone"}).terms.nodes_max == 1);
}

TEST_CASE_METHOD(ClusterFixture, "a standalone job does not tell of nodes that it leaves alone") {
  in(kSlurmTask);
  CHECK_FALSE(launch({}).cluster.empty());
  CHECK(launch({"--standalone"}).cluster.empty());
}

TEST_CASE_METHOD(ClusterFixture, "what is typed into the shell of srun --pty is one ddprun") {
  in(kSlurmTask);
  variables_["SLURM_GTIDS"] = "0,1,2,3";
  variables_["SLURM_PTY_PORT"] = "35443";
  variables_["SLURM_TASK_PID"] = "700";
  process_group_ = 701;  // an interactive shell gives each command one
  CHECK(spec({}).terms.nodes_max == 1);
  CHECK_FALSE(spec({}).preemption.signals.empty());
  CHECK_THAT(launch({}).cluster, contains("shell of srun --pty: one node, run id"));
  process_group_ = 700;  // srun has started it, or a script that did
  CHECK_THAT(error(), contains("srun has started 4 ddprun"));
  process_group_ = 0;  // a step that was started from the shell has no terminal
  CHECK_THAT(error(), contains("srun has started 4 ddprun"));
}

TEST_CASE_METHOD(ClusterFixture, "a batch script on several nodes starts all of them by one srun") {
  in(kBatchScript);
  const StepStart all = start({"--nnodes=2", "--nproc_per_node=4"});
  CHECK(all.nodes == 2);
  CHECK_FALSE(all.no_kill);
  CHECK(start().nodes == 2);
  const Words command = srun_command(all, "/usr/bin/ddprun", "ddprun-1");
  CHECK(command.front() == "srun");
  const auto own = std::ranges::find(command, "/usr/bin/ddprun");
  CHECK(Words(own, command.end()) ==
        Words{"/usr/bin/ddprun", "--nnodes=2", "--nproc_per_node=4", "--no-python", "/bin/true"});
  CHECK(std::ranges::count(command, "--ntasks-per-node=1") == 1);
}

TEST_CASE_METHOD(ClusterFixture, "an agent of --hosts in a batch script joins and starts no srun") {
  in(kBatchScript);
  const HostPlace second{"j", 1, 2, 1, false, {"h0", 4711}, "192.0.2.8"};
  const auto job = parse_launch({"--nproc-per-node", "3", "--no-python", "/bin/true"},
                                local_system(lookup(), 8), second);
  REQUIRE(job.has_value());
  CHECK(job->spec.workers == 3);
  CHECK(job->spec.meeting.coordinator == Endpoint{"h0", 4711});
}

TEST_CASE_METHOD(ClusterFixture, "with MIN below MAX, or with spares, the step outlives a node") {
  in(kBatchScript);
  variables_["SLURM_JOB_NUM_NODES"] = "5";
  CHECK(start({"--nnodes", "2:4"}).nodes == 5);
  CHECK(start({"--nnodes", "2:4"}).no_kill);
  CHECK(start({"--nnodes", "2:5"}).no_kill);
  CHECK(start({"--nnodes", "4:4"}).no_kill);
  CHECK(start({"--nnodes", "4"}).nodes == 4);
  CHECK_FALSE(start({"--nnodes", "4"}).no_kill);
  CHECK_THAT(error({"--nnodes", "6"}), contains("ask sbatch for --nodes=6"));
}

TEST_CASE_METHOD(ClusterFixture, "a batch script's job on one node runs right there") {
  in(kBatchScript);
  CHECK(spec({"--nnodes=1"}).meeting.run_id == "12.0");
  CHECK(spec({"--standalone"}).preemption.signals == std::vector{SIGUSR1, SIGTERM});
  CHECK(spec({"--nnodes=2", "--node-rank=1", "--master-addr=h0"}).meeting.node_rank == 1);
  variables_["SLURM_JOB_NUM_NODES"] = "1";
  CHECK(spec().terms.nodes_max == 1);
}

TEST_CASE_METHOD(ClusterFixture, "mistakes are found before srun is") {
  in(kBatchScript);
  CHECK_THAT(error({"--nproc-per-node", "x"}), contains("--nproc-per-node 'x'"));
}

TEST_CASE("sbatch's options for tasks are kept from the step") {
  CHECK(srun_environment({"PATH=/bin", "SLURM_NTASKS_PER_NODE=4", "SLURM_JOB_ID=1",
                          "SLURM_CPUS_PER_TASK=18", "SLURM_NTASKS=8"},
                         "") == Words{"PATH=/bin", "SLURM_JOB_ID=1"});
}

TEST_CASE("the step is found by its name") {
  const std::string listed = "12.batch batch\n12.0 ddprun-7\n12.1 ddprun-77\n";
  CHECK(step_named("ddprun-77", listed) == "12.1");
  CHECK_FALSE(step_named("ddprun-8", listed).has_value());
}

TEST_CASE_METHOD(ClusterFixture, "mpirun tells nodes and ranks; they meet where mpirun runs") {
  in(kOpenMpi);
  const LaunchSpec s = spec();
  CHECK(s.terms.nodes_max == 2);
  CHECK(s.meeting.node_rank == 1);
  CHECK(s.meeting.coordinator.host == "10.77.0.1");
  CHECK(s.meeting.hosting == Hosting::kAtEndpoint);
  CHECK(s.meeting.run_id == "807600129");
  CHECK(s.preemption.signals.empty());
  variables_.erase("OMPI_MCA_orte_hnp_uri");
  CHECK_THAT(error(), contains("Open MPI does not tell where the first node is"));
  CHECK(spec({"--rdzv-backend=c10d", "--rdzv-endpoint=h0:29400"}).terms.nodes_max == 2);
  variables_["PMIX_NAMESPACE"] = "prterun-node-7-82867@1";  // Open MPI 5
  CHECK(spec().meeting.coordinator.host == "node-7");
}

TEST_CASE_METHOD(ClusterFixture, "MPICH tells nodes and ranks; the endpoint has to be given") {
  in({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
  const LaunchSpec s = spec({"--master-addr", "h0"});
  CHECK(s.terms.nodes_max == 2);
  CHECK(s.meeting.node_rank == 1);
  CHECK_THAT(error(), contains("--rdzv-endpoint"));
}

}  // namespace
}  // namespace ddprun
