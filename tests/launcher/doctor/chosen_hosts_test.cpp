#include "launcher/doctor/ask/chosen_hosts.hpp"

#include <map>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// A machine with these variables and these programs.
class Machine {
 public:
  std::map<std::string, std::string> variables;
  std::vector<std::string> programs{"ssh", "srun"};
  std::string nodefile = "p1\np1\np2\n";

  Result<ChosenHosts> choose(const HostOptions& options = {}) const {
    LocalSystem here;
    here.environment = [this](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional{found->second};
    };
    here.find_program = [this](const std::string& name) -> Result<std::string> {
      if (std::ranges::count(programs, name) > 0) return "/bin/" + name;
      return Error{Error::Kind::kNotFound, "no " + name};
    };
    here.read_text = [this](const std::string&) -> Result<std::string> { return nodefile; };
    here.own_path = [] { return std::string{"/opt/ddprun"}; };
    here.output_of = [](const std::vector<std::string>&) { return std::string{}; };
    return choose_hosts(options, here);
  }

  std::string names(const HostOptions& options = {}) const {
    const auto chosen = choose(options);
    if (!chosen) return chosen.error().message;
    std::string text = chosen->by.empty() ? "" : chosen->by + ":";
    for (const Host& host : chosen->hosts) text += " " + host.name;
    return text;
  }
};

Machine in_slurm() {
  return {.variables = {{"SLURM_JOB_ID", "12"},
                        {"SLURM_JOB_NUM_NODES", "3"},
                        {"SLURM_JOB_NODELIST", "n[1-2],m7"}}};
}

TEST_CASE("without hosts and outside of allocations, this node is looked at") {
  CHECK(Machine{}.names() == "");
}

TEST_CASE("the nodes of an allocation of Slurm are reached by srun, or by ssh without it") {
  Machine machine = in_slurm();
  CHECK(machine.names() == "Slurm job 12: n1 n2 m7");
  CHECK(node_command(machine.choose()->reach, {"n2", {}}) ==
        std::vector<std::string>{"/bin/srun", "--nodes=1", "--ntasks=1", "--nodelist=n2",
                                 "--overlap", "--mem=0", "--cpu-bind=none", "--export=ALL",
                                 "--job-name=ddprun-doctor", "/opt/ddprun", "doctor", "--node"});
  machine.programs = {"ssh"};
  CHECK(node_command(machine.choose()->reach, {"n2", {}}).front() == "/bin/ssh");
}

TEST_CASE("hosts that are named take precedence over an allocation") {
  CHECK(in_slurm().names({.hosts = "a,b"}) == " a b");
  CHECK(in_slurm().names({.no_cluster = true}) == "");
}

TEST_CASE("within a job step, and on one node, this node is looked at") {
  Machine task = in_slurm();
  task.variables.insert(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_NODEID", "1"}, {"SLURM_STEP_NODELIST", "n[1-2],m7"}});
  CHECK(task.names() == "");
  Machine small = in_slurm();
  small.variables["SLURM_JOB_NUM_NODES"] = "1";
  CHECK(small.names() == "");
}

TEST_CASE("the hosts of a PBS job are reached by ssh") {
  Machine machine{.variables = {{"PBS_JOBID", "7.head"}, {"PBS_NODEFILE", "/var/pbs/nodes"}}};
  CHECK(machine.names() == "PBS job 7.head: p1 p2");
  CHECK(node_command(machine.choose()->reach, {"p2", {}}).front() == "/bin/ssh");
  machine.nodefile = "p1\n";
  CHECK(machine.names() == "");
}

TEST_CASE("a list of Slurm that makes no sense, and a missing ssh, are reported") {
  Machine machine = in_slurm();
  machine.variables["SLURM_JOB_NODELIST"] = "n[1-";
  CHECK_THAT(machine.names(), contains("SLURM_JOB_NODELIST: "));
  machine.programs.clear();
  CHECK(machine.names({.hosts = "a"}) == "--ssh-cmd: no ssh");
}

TEST_CASE("a node does not take the launcher's login for its own") {
  CHECK(without_own_login(
            {"SSH_CONNECTION=10.0.0.9 5000 10.0.0.1 22", "SSH_CONNECTIONS=1", "HOME=/home/ada"}) ==
        std::vector<std::string>{"SSH_CONNECTIONS=1", "HOME=/home/ada"});
}

TEST_CASE("why srun has no answer is reported in its words") {
  const HostReach reach{.ssh = {}, .srun = "/usr/bin/srun"};
  CHECK(why_no_answer(reach, {"n2", {}}, {ExitStatus{.code = 1}, {"srun: error: no such node"}}) ==
        "srun exited with code 1 on n2 without an answer (srun: error: no such node)");
  CHECK_THAT(advice_on_reaching(reach, {}), contains("sinfo"));
}

TEST_CASE("why ssh has no answer names the doctor, and no agent or job") {
  const HostReach reach{.ssh = {{"ssh"}, "/opt/ddprun"}, .srun = ""};
  CHECK(why_no_answer(reach, {"h2", {}}, {ExitStatus{.code = 1}, {"profile: broken"}}) ==
        "ddprun doctor on h2 exited with code 1 without an answer (profile: broken)");
}

TEST_CASE("a program that ends at once is not told to be silent, and a silent one is") {
  const HostReach by_ssh{.ssh = {{"ssh"}, "/opt/ddprun"}, .srun = ""};
  const HostReach by_srun{.ssh = {}, .srun = "/usr/bin/srun"};
  CHECK(why_no_answer(by_ssh, {"h2", {}}, {ExitStatus{}, {}}) ==
        "ddprun doctor on h2 exited with code 0 without an answer");
  CHECK(why_no_answer(by_srun, {"h2", {}}, {ExitStatus{}, {}}) ==
        "srun exited with code 0 on h2 without an answer");
  for (const HostReach& reach : {by_ssh, by_srun})
    CHECK(why_no_answer(reach, {"h2", {}}, {}) == "no answer within 40 s");
  CHECK(why_no_answer(by_ssh, {"h2", {}}, {{}, {"ssh: Too many open files"}}) ==
        "ssh: Too many open files");
}

TEST_CASE("a host whose name ssh does not know has an advice of its own") {
  const HostReach reach{.ssh = {{"ssh"}, "/opt/ddprun"}, .srun = ""};
  const NoAnswer unknown{ExitStatus{.code = 255},
                         {"ssh: Could not resolve hostname h22: Name or service not known\r"}};
  CHECK(why_no_answer(reach, {"h22", {}}, unknown) ==
        "no host is known by the name h22: is it spelled right? (ssh: Could not resolve hostname "
        "h22: Name or service not known)");
  CHECK(advice_on_reaching(reach, unknown) ==
        "correct the name, or add it to /etc/hosts or ~/.ssh/config");
  CHECK_THAT(advice_on_reaching(reach, {ExitStatus{.code = 255}, {"Permission denied"}}),
             contains("without a password"));
}

}  // namespace
}  // namespace ddprun
