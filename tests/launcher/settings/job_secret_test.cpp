#include "launcher/settings/job_secret.hpp"

#include <sys/stat.h>

#include <fstream>
#include <map>

#include "launcher/commands/command_line.hpp"
#include "rendezvous/transport/fresh_secret.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

// Command lines with a secret in the file `file_`, or in variables.
class JobSecretFixture {
 protected:
  JobSecretFixture() {
    std::ofstream{file_} << to_text(in_file_);
    REQUIRE(chmod(file_.c_str(), 0600) == 0);
  }

  Result<CommandLine> parse(Words words) {
    words.insert(words.end(), {"--no-python", "/bin/true"});
    const auto environment = [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional{found->second};
    };
    return parse_command_line(words, local_system(environment, 6));
  }
  Launch launch(const Words& words) {
    const auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<Launch>(*parsed);
  }
  HostsJob hosts(const Words& words) {
    const auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<HostsJob>(*parsed);
  }
  StepStart slurm(const Words& words) {
    environment_.insert({{"SLURM_JOB_ID", "12"},
                         {"SLURM_JOB_NUM_NODES", "2"},
                         {"SLURM_NODEID", "0"},
                         {"SLURM_PROCID", "0"}});
    const auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<StepStart>(*parsed);
  }

  ScratchFolder folder_;
  std::string file_ = (folder_ / "secret").string();
  Secret in_file_ = fresh_secret().value();
  Secret in_variable_ = fresh_secret().value();
  std::map<std::string, std::string> environment_{{"PATH", "/bin"}};
};

TEST_CASE_METHOD(JobSecretFixture, "a job has no secret unless it is given one") {
  CHECK_FALSE(launch({}).spec.secret.has_value());
  environment_[kSecretVariable] = "";
  CHECK_FALSE(launch({}).spec.secret.has_value());
}

TEST_CASE_METHOD(JobSecretFixture, "the secret comes from the file, else from the variable") {
  environment_[kSecretVariable] = to_text(in_variable_);
  CHECK(launch({}).spec.secret == in_variable_);
  CHECK(launch({"--secret-file", file_}).spec.secret == in_file_);
  environment_["PET_SECRET_FILE"] = file_;
  CHECK(launch({}).spec.secret == in_file_);
}

TEST_CASE_METHOD(JobSecretFixture, "with a secret, workers reach the store through their ddprun") {
  CHECK(launch({}).spec.terms.store == StoreAt::kLeader);
  CHECK(launch({"--secret-file", file_}).spec.terms.store == StoreAt::kLocal);
  const Launch insists = launch({"--secret-file", file_, "--store", "leader"});
  CHECK(insists.spec.terms.store == StoreAt::kLocal);
  REQUIRE(insists.warnings.size() == 1);
  CHECK_THAT(insists.warnings[0], contains("--store has no effect: with a secret"));
}

TEST_CASE_METHOD(JobSecretFixture,
                 "a secret that cannot be read is an error that names its place") {
  auto parsed = parse({"--secret-file", file_ + "x"});
  REQUIRE(parsed.has_error());
  CHECK(parsed.error().kind == Error::Kind::kInvalid);
  CHECK_THAT(parsed.error().message, contains("--secret-file: '" + file_ + "x'"));
  environment_[kSecretVariable] = "hunter2hunter2";
  parsed = parse({});
  REQUIRE(parsed.has_error());
  CHECK_THAT(parsed.error().message, contains("DDPRUN_SECRET: that is no secret"));
  CHECK(parsed.error().message.find("hunter2") == std::string::npos);
}

TEST_CASE_METHOD(JobSecretFixture, "hosts get the user's secret, else one is made for several") {
  CHECK(hosts({"--hosts", "h1,h2"}).makes_secret);
  CHECK(hosts({"--hosts", "h1,h2"}).start.secret.empty());
  CHECK_FALSE(hosts({"--hosts", "h1"}).makes_secret);
  CHECK_FALSE(hosts({"--hosts", "h1,h2", "--store", "leader"}).makes_secret);
  environment_[kSecretVariable] = to_text(in_variable_);
  const HostsJob given = hosts({"--hosts", "h1,h2"});
  CHECK_FALSE(given.makes_secret);
  CHECK(given.start.secret == to_text(in_variable_));
  CHECK(hosts({"--hosts", "h1", "--secret-file", file_}).start.secret == to_text(in_file_));
}

TEST_CASE_METHOD(JobSecretFixture, "neither a dry run nor a host's command line shows the secret") {
  const HostsJob job = hosts({"--hosts", "h1,h2", "--secret-file", file_});
  const std::string shown = dry_run(job);
  CHECK(shown.find(to_text(in_file_)) == std::string::npos);
  CHECK(shown.find(file_) == std::string::npos);
}

TEST_CASE_METHOD(JobSecretFixture, "the option -x does not hand the secret to workers") {
  environment_[kSecretVariable] = to_text(in_variable_);
  for (const std::string entry : {"DDPRUN_SECRET", "DDPRUN_SECRET=abc"}) {
    const auto parsed = parse({"--hosts", "h1,h2", "-x", entry});
    REQUIRE(parsed.has_error());
    CHECK_THAT(parsed.error().message, contains("-x DDPRUN_SECRET: workers have no use for it"));
  }
}

TEST_CASE_METHOD(JobSecretFixture, "an agent on a host takes the launcher's secret, and no other") {
  environment_[kSecretVariable] = to_text(in_variable_);
  const auto environment = [this](const std::string& name) {
    const auto found = environment_.find(name);
    return found == environment_.end() ? std::nullopt : std::optional{found->second};
  };
  const Words words{"--no-python", "--", "/bin/true"};
  HostPlace place{.run_id = "job", .nodes_max = 2, .leads = true};
  auto job = parse_launch(words, local_system(environment, 6), place);
  REQUIRE(job.has_value());
  CHECK_FALSE(job->spec.secret.has_value());
  place.secret = in_file_;
  job = parse_launch(words, local_system(environment, 6), place);
  REQUIRE(job.has_value());
  CHECK(job->spec.secret == in_file_);
  CHECK(job->spec.terms.store == StoreAt::kLocal);
}

TEST_CASE_METHOD(JobSecretFixture, "a batch script's step gets a secret, unless it reads a file") {
  CHECK(slurm({}).makes_secret);
  CHECK_FALSE(slurm({"--secret-file", file_}).makes_secret);
  CHECK_FALSE(slurm({"--store", "leader"}).makes_secret);
}

TEST_CASE("the secret of a step is in srun's environment, and not among its words") {
  const Words entries{"PATH=/bin", "SLURM_NTASKS=4"};
  CHECK(srun_environment(entries, "abc") == Words{"PATH=/bin", "DDPRUN_SECRET=abc"});
  CHECK(srun_environment(entries, "") == Words{"PATH=/bin"});
}

}  // namespace
}  // namespace ddprun
