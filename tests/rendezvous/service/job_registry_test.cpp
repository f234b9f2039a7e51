#include "rendezvous/service/job_registry.hpp"

#include "base/match.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string told(const JobRegistry::Decision& decision) {
  return match(
      decision,  //
      [](const JobRegistry::Enter&) -> std::string { return "enter"; },
      [](const JobRegistry::Begin&) -> std::string { return "begin"; },
      [](const JobRegistry::Replace&) -> std::string { return "replace"; },
      [](const JobRegistry::Refuse& refuse) -> std::string { return "refuse: " + refuse.reason; });
}

const std::string kFrom = "10.0.0.1";

Join join(const std::string& run_id, int restarts_max = 0) {
  return Join{.run_id = run_id, .node = "n", .terms = {.restarts_max = restarts_max}};
}

TEST_CASE("a node joins the job of its run id, unless that has other terms and no nodes left") {
  struct Case {
    const char* what;
    const char* hosted;  // the run id of the one job that has begun, with no restarts; "": none has
    bool has_nodes;
    Join join;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {"no job is there", "", false, join("a"), "begin"},
      {"another job is there", "b", true, join("a"), "begin"},
      {"the job has nodes", "a", true, join("a"), "enter"},
      {"the job has nodes and other terms: it says so itself", "a", true, join("a", 5), "enter"},
      {"the job's nodes are gone and one comes back", "a", false, join("a"), "enter"},
      {"the job's nodes are gone and the terms are others", "a", false, join("a", 5), "replace"},
      {"a run id may be empty", "", false, join(""), "begin"},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    JobRegistry registry;
    if (*c.hosted != '\0') registry.begun(join(c.hosted), kFrom);
    CHECK(told(registry.decide(c.join, kFrom, c.has_nodes)) == c.expected);
  }
}

TEST_CASE("a replaced job leaves its terms behind") {
  JobRegistry registry;
  registry.begun(join("a"), kFrom);
  registry.begun(join("a", 5), kFrom);
  CHECK(registry.jobs() == 1);
  CHECK(told(registry.decide(join("a", 5), kFrom, false)) == "enter");
  CHECK(told(registry.decide(join("a"), kFrom, false)) == "replace");
}

TEST_CASE("the name of a job that has ended is free again") {
  JobRegistry registry;
  registry.begun(join("a"), kFrom);
  registry.ended("a");
  CHECK(registry.jobs() == 0);
  CHECK(told(registry.decide(join("a"), kFrom, false)) == "begin");
}

TEST_CASE("a full server refuses new jobs, and lets nodes into those it has") {
  JobRegistry registry{{.jobs_max = 3}};
  registry.begun(join("1"), kFrom);
  registry.begun(join("2"), kFrom);
  CHECK(told(registry.decide(join("last"), kFrom, false)) == "begin");
  registry.begun(join("last"), kFrom);
  CHECK(registry.jobs() == 3);
  CHECK(told(registry.decide(join("one more"), kFrom, false)) ==
        "refuse: this server hosts 3 jobs already");
  CHECK(told(registry.decide(join("last"), kFrom, true)) == "enter");
  CHECK(told(registry.decide(join("last", 5), kFrom, false)) == "replace");
  registry.ended("1");
  CHECK(told(registry.decide(join("one more"), kFrom, false)) == "begin");
}

TEST_CASE("one address may begin a number of jobs that have not ended") {
  JobRegistry registry{{.jobs_per_address_max = 2}};
  registry.begun(join("a"), kFrom);
  registry.begun(join("a", 5), kFrom);  // in the place of the first
  CHECK(told(registry.decide(join("b"), kFrom, false)) == "begin");
  registry.begun(join("b"), kFrom);
  CHECK(told(registry.decide(join("c"), kFrom, false)) ==
        "refuse: this server hosts 2 jobs already that were begun from 10.0.0.1");
  CHECK(told(registry.decide(join("c"), "10.0.0.2", false)) == "begin");
  CHECK(told(registry.decide(join("a", 5), kFrom, false)) == "enter");
  registry.ended("a");
  CHECK(told(registry.decide(join("c"), kFrom, false)) == "begin");
}

TEST_CASE("a job is abandoned when it has had no nodes for long, and not before") {
  using namespace std::chrono_literals;
  const TimePoint start{1h};
  JobRegistry registry{{.empty_job_kept = 120s}};
  registry.begun(join("a"), kFrom);
  CHECK_FALSE(registry.abandoned("a", false, start));
  CHECK_FALSE(registry.abandoned("a", false, start + 119s));
  CHECK_FALSE(registry.abandoned("a", true, start + 120s));  // one came back
  CHECK_FALSE(registry.abandoned("a", false, start + 200s));
  CHECK_FALSE(registry.abandoned("a", false, start + 319s));
  CHECK(registry.abandoned("a", false, start + 320s));
  CHECK_FALSE(registry.abandoned("never begun", false, start));
}

}  // namespace
}  // namespace ddprun
