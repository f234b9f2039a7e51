#include "launcher/hosts/hosts_job.hpp"

#include <fstream>
#include <map>

#include "launcher/commands/command_line.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

class HostsJobFixture {
 protected:
  Result<CommandLine> parse(const Words& words) {
    const auto environment = [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional{found->second};
    };
    return parse_command_line(words, local_system(environment, 6));
  }
  HostsJob job(const Words& words) {
    auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<HostsJob>(std::move(*parsed));
  }
  std::string error(const Words& words) {
    const auto parsed = parse(words);
    REQUIRE(parsed.has_error());
    return parsed.error().message;
  }
  /// The words that the host with the coordinator gets.
  Words told(const Words& words, int host = 0) {
    return start_of(job(words), {host, host == 0, {"10.0.0.1", 400}}).arguments;
  }

  std::map<std::string, std::string> environment_;
};

TEST_CASE_METHOD(HostsJobFixture, "hosts get what concerns them, from options and variables") {
  environment_["PET_MAX_RESTARTS"] = "2";
  CHECK(told({"--hosts", "h1,h2:8", "--nproc_per_node=4", "--tee", "3", "--standalone",
              "--rdzv-conf", "join_timeout=9", "--store", "local", "train.py", "--hosts", "x"}) ==
        Words{"--nproc-per-node=4", "--rdzv-conf=join_timeout=9", "--store=local", "--tee=3",
              "--max-restarts=2", "--", "train.py", "--hosts", "x"});
}

TEST_CASE_METHOD(HostsJobFixture, "hosts send the report of the job, and no host writes its file") {
  const Words words{"--hosts", "h1,h2", "--report-file", "why.json", "t.py"};
  CHECK(job(words).report_file == "why.json");
  CHECK(job(words).start.reports);
  CHECK(told(words) == Words{"--", "t.py"});
  CHECK_FALSE(job({"--hosts", "h1,h2", "t.py"}).start.reports);
}

TEST_CASE_METHOD(HostsJobFixture, "a host's own number of workers comes before that of all") {
  const Words words{"--hosts", "h1,h2:8", "--nproc-per-node=4", "train.py", "--nproc-per-node=3"};
  CHECK(told(words, 0) == Words{"--nproc-per-node=4", "--", "train.py", "--nproc-per-node=3"});
  CHECK(told(words, 1) == Words{"--nproc-per-node=8", "--", "train.py", "--nproc-per-node=3"});
  CHECK(told({"launch", "--hosts", "h1:2", "t.py"}) ==
        Words{"launch", "--nproc-per-node=2", "--", "t.py"});
  const Words each{"--hosts", "h1,h2:8", "--nproc-per-node=4,3", "t.py"};
  CHECK(told(each, 0) == Words{"--nproc-per-node=4", "--", "t.py"});
  CHECK(told(each, 1) == Words{"--nproc-per-node=8", "--", "t.py"});
}

TEST_CASE_METHOD(HostsJobFixture, "all hosts are needed unless --nnodes says otherwise") {
  CHECK(job({"--hosts", "a,b,c", "t.py"}).rules.nodes_min == 3);
  const HostsJob elastic = job({"--hosts", "a,b,c", "--nnodes", "1:2", "t.py"});
  CHECK(elastic.rules.nodes_min == 1);
  CHECK(elastic.start.nodes_max == 2);
  CHECK_THAT(error({"--hosts", "a,b", "--nnodes", "3", "t.py"}), contains("there are 2 hosts"));
}

TEST_CASE_METHOD(HostsJobFixture, "variables go to the hosts when -x names them") {
  environment_ = {{"TOKEN", "secret"}, {"OTHER", "x"}, {"PYTHON_EXEC", "/venv/python"}};
  const HostsJob with = job(
      {"--hosts", "h1", "-x", "TOKEN", "-x", "A=b=c,d", "--export=EMPTY=", "-x", "NONE", "t.py"});
  CHECK(with.start.environment ==
        std::map<std::string, std::string>{
            {"A", "b=c,d"}, {"EMPTY", ""}, {"PYTHON_EXEC", "/venv/python"}, {"TOKEN", "secret"}});
  CHECK(with.warnings == Words{"-x NONE has no effect: it is not set here"});
  CHECK_THAT(error({"--hosts", "h1", "-x", "1A=b", "t.py"}), contains("-x '1A'"));
}

TEST_CASE_METHOD(HostsJobFixture, "the coordinator is where --master-addr and --master-port say") {
  const HostsJob job = this->job({"--hosts", "a,b", "--master-addr", "ib1", "--master-port", "4711",
                                  "--rdzv-id", "j", "t.py"});
  const HostStart leader = start_of(job, {0, true, {}});
  CHECK((leader.leads && leader.host == "ib1" && leader.port == 4711 && leader.run_id == "j"));
  const HostStart other = start_of(job, {1, false, {"ib1", 99}});
  CHECK((!other.leads && other.host == "ib1" && other.port == 99 && other.node_rank == 1));
}

TEST_CASE_METHOD(HostsJobFixture, "mistakes are reported before any host is asked") {
  CHECK_THAT(error({"--hosts", "h1"}), contains("the script to run is missing"));
  CHECK_THAT(error({"--hosts", "h1", "--hostfile", "f", "t.py"}), contains("exclude each other"));
  CHECK_THAT(error({"--hostfile", "/nowhere/hosts", "t.py"}),
             contains("--hostfile: cannot read '/nowhere/hosts': No such file or directory"));
  CHECK_THAT(error({"--hostfile", "/", "t.py"}), contains("it is a directory"));
  CHECK_THAT(error({"--hosts", "h1", "--max-restarts", "x", "t.py"}),
             contains("--max-restarts 'x'"));
  CHECK_THAT(error({"--hosts", "h1", "--restart-delay", "x", "t.py"}),
             contains("--restart-delay 'x'"));
  CHECK_THAT(error({"--hosts", "h1", "--master-addr", "tcp://h1", "t.py"}),
             contains("expected a host name or an address"));
  CHECK_THAT(error({"--hosts", "h1", "--ssh-cmd", " ", "t.py"}), contains("expected a command"));
  CHECK_THAT(error({"--hosts", "a,b", "--nproc-per-node", "1,2,3", "t.py"}),
             contains("one number for each of 2 hosts"));
}

TEST_CASE_METHOD(HostsJobFixture,
                 "a budget of restarts may be a rate, or progress may fill it up") {
  for (const char* budget : {"3/1h", "3@progress"})
    CHECK(job({"--hosts", "h1", "--max-restarts", budget, "t.py"}).start.arguments ==
          Words{"--max-restarts=" + std::string{budget}, "--", "t.py"});
}

TEST_CASE_METHOD(HostsJobFixture,
                 "options without effect are reported here once, and not by every host") {
  const HostsJob job = this->job({"--hosts", "h1", "--rdzv-backend", "c10d", "--node-rank", "0",
                                  "--monitor-interval", "3", "t.py", "--nnodes", "1"});
  REQUIRE(job.warnings.size() == 4);
  CHECK(job.warnings[0] == "--rdzv-backend has no effect: with --hosts");
  CHECK_THAT(job.warnings[2], contains("--monitor-interval has no effect"));
  CHECK_THAT(job.warnings[3], contains("--nnodes behind t.py"));
  CHECK(job.start.arguments == Words{"--", "t.py", "--nnodes", "1"});
}

TEST_CASE_METHOD(HostsJobFixture, "a hostfile is read, and a dry run shows what would be started") {
  const ScratchFolder folder;
  std::ofstream{folder / "hosts"} << "me@h1 slots=2\nh2\n";
  const HostsJob job = this->job({"--hostfile", (folder / "hosts").string(), "--remote-path",
                                  "/opt/ddprun", "--dry-run", "-x", "TOKEN=secret", "t.py", "a b"});
  CHECK(job.dry_run);
  const std::string text = dry_run(job);
  CHECK_THAT(text, contains("# node 0: h1\nssh -o BatchMode=yes"));
  CHECK_THAT(
      text, contains("-T -- me@h1 '/opt/ddprun agent'\n#  told: --nproc-per-node=2 -- t.py 'a b'"));
  CHECK(text.find("secret") == std::string::npos);
}

}  // namespace
}  // namespace ddprun
