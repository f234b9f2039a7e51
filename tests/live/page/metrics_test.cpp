#include "live/page/metrics.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

JobStatus training() {
  JobStatus job{
      .run_id = "r\"1",
      .state = JobStatus::State::kRunning,
      .round = 2,
      .restarts_left = 3,
      .summary = {.step = 270, .steps = 1000, .percent = 27, .has_loss = true, .loss = 0.5}};
  job.nodes = {{.host = "h1", .silent_ms = 1500}};
  job.ranks = {{.rank = 0, .step = 280}, {.rank = 1, .step = 270, .lag = 10, .still_ms = 2000}};
  return job;
}

TEST_CASE("numbers have a help, a type, and the job as a label") {
  const std::string text = metrics_text({training()});
  CHECK_THAT(text, contains("# HELP ddprun_step The last step that all ranks have done.\n"
                            "# TYPE ddprun_step gauge\n"
                            "ddprun_step{job_id=\"r\\\"1\"} 270\n"));
  CHECK_THAT(text, contains("ddprun_restarts_left{job_id=\"r\\\"1\"} 3\n"));
  CHECK_THAT(text, contains("ddprun_progress_ratio{job_id=\"r\\\"1\"} 0.27\n"));
  CHECK_THAT(text, contains("ddprun_job_state{job_id=\"r\\\"1\",state=\"running\"} 1\n"));
  CHECK_THAT(text, contains("ddprun_job_state{job_id=\"r\\\"1\",state=\"ended\"} 0\n"));
  CHECK_THAT(text, contains("ddprun_rank_lag{job_id=\"r\\\"1\",rank=\"1\"} 10\n"));
  CHECK_THAT(text, contains("host=\"h1\",state=\"ready\"} 1.5\n"));
  CHECK(text.ends_with("# EOF\n"));
}

TEST_CASE("a job that hangs is distinguished from one that does not") {
  JobStatus job = training();
  CHECK_THAT(metrics_text({job}), contains("\nddprun_hanging{job_id=\"r\\\"1\"} 0\n"));
  job.hang.emplace();
  CHECK_THAT(metrics_text({job}), contains("\nddprun_hanging{job_id=\"r\\\"1\"} 1\n"));
}

TEST_CASE("a job tells how many of its ranks are debugged") {
  JobStatus job = training();
  CHECK_THAT(metrics_text({job}), contains("\nddprun_ranks_debugged{job_id=\"r\\\"1\"} 0\n"));
  job.summary.debugged = {{.rank = 0}, {.rank = 1}};
  CHECK_THAT(metrics_text({job}), contains("\nddprun_ranks_debugged{job_id=\"r\\\"1\"} 2\n"));
}

TEST_CASE("how late a rank is has a sample as far as it is known") {
  JobStatus job = training();
  CHECK(metrics_text({job}).find("ddprun_rank_late_ratio{") == std::string::npos);
  job.ranks[1].late_percent = 12.5;
  CHECK_THAT(metrics_text({job}),
             contains("ddprun_rank_late_ratio{job_id=\"r\\\"1\",rank=\"1\"} 0.125\n"));
}

TEST_CASE("checkpoints in memory have samples once one is complete") {
  JobStatus job = training();
  job.nodes.front().checkpoints.emplace();
  CHECK(metrics_text({job}).find("ddprun_checkpoint_bytes{") == std::string::npos);
  CHECK(metrics_text({job}).find("ddprun_checkpoint_written_age_seconds{") == std::string::npos);
  job.nodes.front().checkpoints = KeptCheckpoints{"c-5", 700, 1'500, "c-4", 600, 9'500, 3};
  const std::string text = metrics_text({job});
  CHECK_THAT(text,
             contains("ddprun_checkpoint_bytes{job_id=\"r\\\"1\",node=\"0\",host=\"h1\"} 700\n"));
  CHECK_THAT(
      text,
      contains("ddprun_checkpoint_age_seconds{job_id=\"r\\\"1\",node=\"0\",host=\"h1\"} 1.5\n"));
  for (const char* sample :
       {"checkpoint_written_bytes{", "checkpoint_written_age_seconds{", "checkpoints_put_back{"})
    CHECK_THAT(text, contains("\nddprun_" + std::string{sample} + "job_id=\"r\\\"1\",node=\"0\","));
  CHECK_THAT(text, contains("host=\"h1\"} 600\n"));
  CHECK_THAT(text, contains("host=\"h1\"} 9.5\n"));
  CHECK_THAT(text, contains("host=\"h1\"} 3\n"));
}

TEST_CASE("the load of a node's machine has samples as far as it is known") {
  JobStatus job = training();
  job.nodes.front().load = NodeLoad{.cpu_percent = 43, .memory_bytes = 1'000};
  job.nodes.push_back({.host = "h2"});
  const std::string text = metrics_text({job});
  CHECK_THAT(text,
             contains("ddprun_node_cpu_ratio{job_id=\"r\\\"1\",node=\"0\",host=\"h1\"} 0.43\n"));
  CHECK_THAT(text,
             contains("ddprun_node_memory_bytes{job_id=\"r\\\"1\",node=\"0\",host=\"h1\"} 1000\n"));
  CHECK(text.find("ddprun_node_gpu") == std::string::npos);
  CHECK(text.find("ddprun_node_memory_used") == std::string::npos);
}

TEST_CASE("what a job does not know has no sample, and no help either") {
  const std::string text = metrics_text({JobStatus{.run_id = "r"}});
  CHECK(text.find("ddprun_loss") == std::string::npos);
  CHECK(text.find("ddprun_step") == std::string::npos);
  CHECK(metrics_text({}) == "# EOF\n");
}

TEST_CASE("samples of one metric stand together, also those of several jobs") {
  JobStatus other = training();
  other.run_id = "r2";
  const std::string text = metrics_text({training(), other});
  CHECK_THAT(text,
             contains("ddprun_loss{job_id=\"r\\\"1\"} 0.5\nddprun_loss{job_id=\"r2\"} 0.5\n"));
}

}  // namespace
}  // namespace ddprun
