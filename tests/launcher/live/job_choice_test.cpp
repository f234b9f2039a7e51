#include "launcher/live/job_choice.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Agents = std::vector<std::size_t>;

const std::vector<JobFacts> kJobs{
    {.run_id = "alpha-1", .pid = 10, .coordinator = "h1:29400"},
    {.run_id = "alpha-2", .pid = 20, .coordinator = "h1:29401", .coordinator_here = true},
    {.run_id = "alpha-1", .pid = 30, .coordinator = "10.0.0.1:29400", .coordinator_here = true}};

std::string complaint(const std::vector<JobFacts>& jobs, const std::string& word) {
  const auto chosen = choose_job(jobs, word);
  REQUIRE(chosen.has_error());
  return chosen.error().message;
}

TEST_CASE("a job is meant by the beginning of its run id, all of its agents, the host's first") {
  CHECK(choose_job(kJobs, "alpha-1").value() == Agents{2, 0});
  CHECK(choose_job(kJobs, "alpha-2").value() == Agents{1});
  CHECK_THAT(complaint(kJobs, "alpha"), contains("'alpha-1' (process 10), 'alpha-2' (process 20)"));
}

TEST_CASE("a process id means one agent") { CHECK(choose_job(kJobs, "10").value() == Agents{0}); }

TEST_CASE("no word means the only job, and where several run it has to be said") {
  CHECK(choose_job({kJobs[1]}, "").value() == Agents{0});
  CHECK(choose_job({kJobs[0], kJobs[2]}, "").value() == Agents{1, 0});
  CHECK_THAT(complaint(kJobs, ""), contains("several jobs run"));
}

TEST_CASE("a run id that begins another one's means the job that has it") {
  const std::vector<JobFacts> jobs{{.run_id = "a", .pid = 1, .coordinator = "h:1"},
                                   {.run_id = "ab", .pid = 2, .coordinator = "h:2"}};
  CHECK(choose_job(jobs, "a").value() == Agents{0});
}

TEST_CASE("jobs that have the same name are not one job") {
  const std::vector<JobFacts> jobs{
      {.run_id = "none", .title = "/me/a.py", .pid = 1, .coordinator = "127.0.0.1:1"},
      {.run_id = "none", .title = "b.py", .pid = 2, .coordinator = "127.0.0.1:2"}};
  CHECK_THAT(complaint(jobs, "none"), contains("name one of 'a.py-1' (process 1), 'b.py-2' (pro"));
  CHECK(choose_job(jobs, "2").value() == Agents{1});
  CHECK(choose_job(jobs, "b.py").value() == Agents{1});
}

TEST_CASE("a job without a run id is called by its script and the process of its coordinator") {
  const std::vector<JobFacts> jobs{
      {.run_id = "none", .title = "a.py", .pid = 1, .coordinator = "h:1"},
      {.run_id = "none",
       .title = "a.py",
       .pid = 2,
       .coordinator = "127.0.0.1:1",
       .coordinator_here = true},
      {.run_id = "mine", .title = "a.py", .pid = 3, .coordinator = "h:3"}};
  CHECK(job_names(jobs) == std::vector<std::string>{"a.py-2", "a.py-2", "mine"});
  CHECK(choose_job(jobs, "a.py-2").value() == Agents{1, 0});
}

TEST_CASE("a job that is not there is reported, with those that are") {
  CHECK_THAT(complaint({}, ""), contains("no job of this user runs"));
  CHECK_THAT(complaint(kJobs, "beta"), contains("'beta'; running: 'alpha-1'"));
  CHECK_THAT(complaint(kJobs, "\x1b[31m"), contains("\\x1b[31m"));
}

}  // namespace
}  // namespace ddprun
