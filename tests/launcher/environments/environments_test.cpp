// Recorded environments: the variables and files as each system writes them.

#include <map>

#include "launcher/commands/command_line.hpp"
#include "launcher/environments/cluster_env.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;
using Texts = std::map<std::string, std::string>;

struct Recorded {
  Texts variables;
  Texts files = {};    // by path
  Texts answers = {};  // by command
  std::string host_name = "h1";
};

// flux run -N2 --tasks-per-node=1, second task. PMI_* are for MPI programs.
const Recorded kFluxTask{{{"FLUX_JOB_ID", "\u0192Abc12"},
                          {"FLUX_JOB_SIZE", "2"},
                          {"FLUX_JOB_NNODES", "2"},
                          {"FLUX_TASK_RANK", "1"},
                          {"FLUX_TASK_LOCAL_ID", "0"},
                          {"FLUX_URI", "local:///run/flux/local"},
                          {"PMI_RANK", "1"},
                          {"PMI_SIZE", "2"},
                          {"PMI_FD", "22"}},
                         {},
                         {{"flux job info \u0192Abc12 R",
                           R"({"version":1,"execution":{"nodelist":["corona[171-172]"]}})"}}};
// flux batch -N2
const Recorded kFluxBatch{{{"FLUX_URI", "local:///tmp/flux-abc/local-0"}},
                          {},
                          {{"flux getattr instance-level", "1\n"}, {"flux getattr size", "2\n"}}};
// qsub -l select=2:ncpus=16, in the script; and a task that pbsdsh has started.
const Recorded kPbsScript{{{"PBS_ENVIRONMENT", "PBS_BATCH"},
                           {"PBS_JOBID", "314827.login1.example.org"},
                           {"PBS_NODEFILE", "/var/spool/pbs/aux/314827.login1.example.org"},
                           {"PBS_NODENUM", "0"},
                           {"PBS_TASKNUM", "1"},
                           {"PBS_NCPUS", "16"}},
                          {{"/var/spool/pbs/aux/314827.login1.example.org",
                            "n17.example.org\nn17.example.org\nn4.example.org\n"}}};
// bsub -n 4 -R "span[ptile=2]"
const Recorded kLsfScript{
    {{"LSB_JOBID", "4711"},
     {"LSB_DJOB_HOSTFILE", "/home/u/.lsbatch/1668000000.4711.hostfile"},
     {"LSB_HOSTS", "hostA hostA hostB hostB"},
     {"LSB_MCPU_HOSTS", "hostA 2 hostB 2 "}},
    {{"/home/u/.lsbatch/1668000000.4711.hostfile", "hostA\nhostA\nhostB\nhostB\n"}}};
// jsrun -n2 -r1 -a1 in a job with a launch node.
const Recorded kJsrun{{{"LSB_JOBID", "4711"},
                       {"LSB_MCPU_HOSTS", "batch2 1 h41n08 42 h41n03 42"},
                       {"JSM_NAMESPACE_SIZE", "2"},
                       {"JSM_NAMESPACE_RANK", "1"},
                       {"JSM_NAMESPACE_LOCAL_SIZE", "1"},
                       {"JSM_NAMESPACE_LOCAL_RANK", "0"}}};
const Recorded kSageMaker{{{"SM_HOSTS", R"(["algo-1","algo-2","algo-3"])"},
                           {"SM_CURRENT_HOST", "algo-2"},
                           {"SM_NUM_GPUS", "8"},
                           {"TRAINING_JOB_NAME", "digits-2022-11-22-05-00-00-123"}}};
const Recorded kPod{
    {{"JOB_COMPLETION_INDEX", "3"}, {"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"PET_NNODES", "4"}},
    {{"/etc/hosts",
      "127.0.0.1\tlocalhost\n"
      "10.244.1.7\ttrain-workers-0-3.train.ml.svc.cluster.local\ttrain-workers-0-3\n"}},
    {},
    "train-workers-0-3"};

class RecordedFixture {
 protected:
  void in(Recorded recorded) { recorded_ = std::move(recorded); }
  Texts& variables() { return recorded_.variables; }

  Result<CommandLine> parse(Words options) {
    options.insert(options.end(), {"--no-python", "/bin/true"});
    const auto variable = [this](const std::string& name) { return find(variables(), name); };
    LocalSystem here = local_system(variable, 8);
    here.host_name = [this] { return recorded_.host_name; };
    here.read_text = [this](const std::string& path) -> Result<std::string> {
      if (auto text = find(recorded_.files, path)) return *text;
      return Error{Error::Kind::kNotFound, "cannot read '" + path + "'"};
    };
    here.output_of = [this](const Words& words) {
      std::string command;
      for (const std::string& word : words) command += (command.empty() ? "" : " ") + word;
      return find(recorded_.answers, command).value_or("");
    };
    return parse_command_line(options, here);
  }
  template <typename Kind>
  Kind read(const Words& options) {
    auto parsed = parse(options);
    if (!parsed) FAIL(parsed.error().message);
    REQUIRE(std::holds_alternative<Kind>(*parsed));
    return std::get<Kind>(std::move(*parsed));
  }
  Launch launch(const Words& options = {}) { return read<Launch>(options); }
  Meeting meeting(const Words& options = {}) { return launch(options).spec.meeting; }
  JobTerms terms(const Words& options = {}) { return launch(options).spec.terms; }
  HostsJob hosts(const Words& options = {}) { return read<HostsJob>(options); }
  Words names(const Words& options = {}) {
    Words labels;
    for (const Host& host : hosts(options).rules.hosts) labels.push_back(host.label());
    return labels;
  }
  std::string error(const Words& options = {}) {
    const auto parsed = parse(options);
    REQUIRE(parsed.has_error());
    return parsed.error().message;
  }

 private:
  static std::optional<std::string> find(const Texts& texts, const std::string& key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::nullopt : std::optional{found->second};
  }

  Recorded recorded_;
};

TEST_CASE_METHOD(RecordedFixture, "a task of Flux finds its rank, and the first host in R") {
  in(kFluxTask);
  const LaunchSpec spec = launch().spec;
  const Meeting& m = spec.meeting;
  CHECK(spec.terms.nodes_min == 2);
  CHECK(spec.terms.nodes_max == 2);
  CHECK(m.node_rank == 1);
  CHECK(m.coordinator.host == "corona171");
  CHECK(m.hosting == Hosting::kElsewhere);
  CHECK(m.run_id == "Abc12");
  const std::uint16_t port = m.coordinator.port;
  CHECK(port >= 16'384);
  CHECK(port < 32'768);
  variables()["FLUX_TASK_RANK"] = "0";
  CHECK(meeting().hosting == Hosting::kHere);
  CHECK(meeting().coordinator.port == port);
  CHECK_THAT(launch().cluster,
             contains("Flux job \u0192Abc12: node 0 of 2, coordinator at corona171:"));
}

TEST_CASE_METHOD(RecordedFixture,
                 "two tasks of Flux on a node get a message with the option to give") {
  in(kFluxTask);
  variables()["FLUX_JOB_SIZE"] = "4";
  CHECK_THAT(error(), contains("flux run has started 2 ddprun on this node"));
  CHECK_THAT(error(), contains("--tasks-per-node=1"));
}

TEST_CASE_METHOD(RecordedFixture, "where Flux does not answer, the endpoint has to be given") {
  in({kFluxTask.variables});
  CHECK_THAT(error(), contains("does not tell where the first node is ('' is no resource set"));
  CHECK(terms({"--rdzv-backend=c10d", "--rdzv-endpoint=h0:29400"}).nodes_max == 2);
}

TEST_CASE_METHOD(RecordedFixture, "in an instance of Flux ddprun starts itself by flux run") {
  in(kFluxBatch);
  const StepStart start = read<StepStart>({"--nproc-per-node", "2"});
  CHECK(start.nodes == 2);
  const Words command = flux_command(start, "/usr/bin/ddprun");
  CHECK(Words(command.begin(), command.begin() + 4) ==
        Words{"flux", "run", "--nodes=2", "--tasks-per-node=1"});
  const auto own = std::ranges::find(command, "/usr/bin/ddprun");
  CHECK(Words(own, command.end()) ==
        Words{"/usr/bin/ddprun", "--nproc-per-node", "2", "--no-python", "/bin/true"});
  CHECK_THAT(error({"--nnodes", "3"}), contains("Flux instance has 2 nodes"));
  CHECK(terms({"--nnodes", "1"}).nodes_max == 1);
}

TEST_CASE_METHOD(RecordedFixture, "the nodes of the system's own Flux are not the job's") {
  Recorded system = kFluxBatch;
  system.answers["flux getattr instance-level"] = "0\n";
  in(system);
  CHECK(terms().nodes_max == 1);
}

TEST_CASE_METHOD(RecordedFixture, "a PBS script's nodes are hosts over ssh") {
  in(kPbsScript);
  CHECK(names() == Words{"n17.example.org", "n4.example.org"});
  CHECK(hosts().start.run_id == "314827.login1.example.org");
  CHECK(hosts({"--rdzv-id", "mine"}).start.run_id == "mine");
  CHECK_THAT(hosts().warnings.front(),
             contains("PBS job 314827.login1.example.org: starting on 2 nodes over ssh"));
  CHECK(names({"--nnodes", "1:2"}).size() == 2);
  CHECK_THAT(error({"--nnodes", "3"}), contains("PBS job 314827.login1.example.org has 2 nodes"));
}

TEST_CASE_METHOD(RecordedFixture, "of a batch job's hosts no more are used than are asked for") {
  in(kLsfScript);
  Recorded three = kLsfScript;
  three.variables.erase("LSB_DJOB_HOSTFILE");
  three.variables["LSB_MCPU_HOSTS"] = "hostA 2 hostB 2 hostC 2";
  in(three);
  CHECK(names() == Words{"hostA", "hostB", "hostC"});
  CHECK(names({"--nnodes", "2"}) == Words{"hostA", "hostB"});
  CHECK(names({"--nnodes", "2:2"}).size() == 3);  // one is a spare
}

TEST_CASE_METHOD(RecordedFixture, "an LSF script's nodes are hosts over ssh") {
  in(kLsfScript);
  CHECK(names() == Words{"hostA", "hostB"});
  CHECK(hosts().start.run_id == "4711");
}

TEST_CASE_METHOD(RecordedFixture, "options about the meeting keep a batch script's job here") {
  const auto recorded = GENERATE(kPbsScript, kLsfScript);
  in(recorded);
  CHECK(terms({"--standalone"}).nodes_max == 1);
  CHECK(terms({"--nnodes=1"}).nodes_max == 1);
  CHECK(terms({"--no-cluster"}).nodes_max == 1);
  CHECK(terms({"--no-slurm"}).nodes_max == 1);
  const Meeting by_hand = meeting({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h0:4"});
  CHECK(by_hand.coordinator == Endpoint{"h0", 4});
  CHECK(meeting({"--nnodes=2", "--node-rank=1", "--master-addr=h0"}).node_rank == 1);
  CHECK(names({"--hosts", "x,y"}) == Words{"x", "y"});
}

TEST_CASE_METHOD(RecordedFixture,
                 "a node file that is not there matters to a job of several nodes") {
  in({kPbsScript.variables});
  CHECK(terms().nodes_max == 1);
  CHECK_THAT(error({"--nnodes", "2"}), contains("cannot read PBS_NODEFILE '/var/spool/pbs/aux/"));
  CHECK(terms({"--nnodes=1"}).nodes_max == 1);
  CHECK(terms({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h0:4"}).nodes_max == 2);
}

TEST_CASE_METHOD(RecordedFixture, "a task of pbsdsh finds its rank and the first host") {
  in(kPbsScript);
  variables()["PBS_TASKNUM"] = "2";
  variables()["PBS_NODENUM"] = "1";
  const LaunchSpec spec = launch().spec;
  const Meeting& m = spec.meeting;
  CHECK(spec.terms.nodes_max == 2);
  CHECK(m.node_rank == 1);
  CHECK(m.coordinator.host == "n17.example.org");
  CHECK(m.hosting == Hosting::kElsewhere);
  Recorded without_file{variables()};
  in(without_file);
  CHECK_THAT(error(), contains("does not tell how many nodes there are (cannot read PBS_NODEFILE"));
  CHECK_THAT(error({"--nnodes=2"}), contains("give --rdzv-endpoint HOST:PORT"));
  CHECK(terms({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h0:4"}).nodes_max == 2);
}

TEST_CASE_METHOD(RecordedFixture, "jsrun tells ranks, and starts nothing on the launch node") {
  in(kJsrun);
  const LaunchSpec spec = launch().spec;
  const Meeting& m = spec.meeting;
  CHECK(spec.terms.nodes_max == 2);
  CHECK(m.node_rank == 1);
  CHECK(m.coordinator.host == "h41n08");
  CHECK(m.hosting == Hosting::kAtEndpoint);
  CHECK(m.run_id == "4711");
  variables()["JSM_NAMESPACE_LOCAL_SIZE"] = "2";
  CHECK_THAT(error(), contains("jsrun has started 2 ddprun on this node"));
}

TEST_CASE_METHOD(RecordedFixture, "SageMaker lists the hosts, and this one's name is its rank") {
  in(kSageMaker);
  const LaunchSpec spec = launch().spec;
  const Meeting& m = spec.meeting;
  CHECK(spec.terms.nodes_max == 3);
  CHECK(m.node_rank == 1);
  CHECK(m.coordinator.host == "algo-1");
  CHECK(m.hosting == Hosting::kElsewhere);
  CHECK(m.run_id == "digits-2022-11-22-05-00-00-123");
  variables()["SM_CURRENT_HOST"] = "algo-1";
  CHECK(meeting().hosting == Hosting::kHere);
  variables()["SM_CURRENT_HOST"] = "algo-9";
  CHECK_THAT(error(), contains("SM_CURRENT_HOST 'algo-9' is none of its hosts"));
  variables()["SM_CURRENT_HOST"] = "algo-1";
  variables()["SM_HOSTS"] = R"(["algo-1"])";
  CHECK(terms().nodes_max == 1);
}

TEST_CASE_METHOD(RecordedFixture, "pods of an indexed Job meet at the first of them") {
  in(kPod);
  const LaunchSpec spec = launch().spec;
  const Meeting& m = spec.meeting;
  CHECK(spec.terms.nodes_min == 4);
  CHECK(spec.terms.nodes_max == 4);
  CHECK(m.node_rank == 3);
  CHECK(m.coordinator == Endpoint{"train-workers-0-0.train.ml.svc.cluster.local", 29'400});
  CHECK(m.hosting == Hosting::kElsewhere);
  CHECK(m.run_id == "train-workers-0");
  CHECK(terms({"--nnodes", "2:4"}).nodes_min == 2);
  CHECK_THAT(launch().cluster,
             contains("Kubernetes: node 3 of 4, coordinator at train-workers-0-0."));
}

TEST_CASE_METHOD(RecordedFixture, "a pod that hears of no others has a job of its own") {
  in(kPod);
  variables().erase("PET_NNODES");
  CHECK(terms().nodes_max == 1);
  CHECK_THAT(launch().cluster, contains("one node"));
  CHECK_THAT(launch().cluster, contains("PET_NNODES or --nnodes says how many pods a job has"));
}

TEST_CASE_METHOD(RecordedFixture, "pods without a Service get a message that they need one") {
  Recorded pod = kPod;
  pod.files["/etc/hosts"] = "10.244.1.7\ttrain-workers-0-3\n";
  in(pod);
  CHECK_THAT(error(), contains("no subdomain, which is the name of a headless Service"));
  CHECK_THAT(error(), contains("give --rdzv-endpoint"));
}

// Kubeflow's Trainer sets the options of torchrun, in pods that have an index as well.
TEST_CASE_METHOD(RecordedFixture,
                 "what Kubeflow says about the meeting wins over the pod's index") {
  in(kPod);
  variables()["PET_NODE_RANK"] = "3";
  variables()["PET_MASTER_ADDR"] = "train-node-0-0.train";
  variables()["PET_MASTER_PORT"] = "29500";
  variables()["PET_NPROC_PER_NODE"] = "2";
  const Launch l = launch();
  CHECK(l.spec.workers == 2);
  CHECK(l.spec.meeting.coordinator == Endpoint{"train-node-0-0.train", 29'500});
  CHECK(l.spec.meeting.node_rank == 3);
  CHECK(l.spec.meeting.hosting == Hosting::kElsewhere);
  CHECK(l.cluster.empty());
}

TEST_CASE_METHOD(RecordedFixture, "MPI in a batch job tells more than the batch job does") {
  in(kPbsScript);
  variables().insert({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
  CHECK_THAT(error(), contains("MPI does not tell where the first node is"));
}

TEST_CASE_METHOD(RecordedFixture, "without a cluster nothing is taken from any of them") {
  const auto recorded = GENERATE(kFluxTask, kFluxBatch, kPbsScript, kLsfScript, kJsrun, kSageMaker);
  in(recorded);
  CHECK(terms({"--no-cluster"}).nodes_max == 1);
  CHECK(meeting({"--no-cluster"}).run_id == "none");
}

}  // namespace
}  // namespace ddprun
