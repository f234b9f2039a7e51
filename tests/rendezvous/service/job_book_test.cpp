#include "rendezvous/service/job_book.hpp"

#include "base/match.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string told(const JobBook::Decision& decision) {
  return match(
      decision,  //
      [](const JobBook::Enter&) -> std::string { return "enter"; },
      [](const JobBook::Begin&) -> std::string { return "begin"; },
      [](const JobBook::Replace&) -> std::string { return "replace"; },
      [](const JobBook::Refuse& refuse) -> std::string { return "refuse: " + refuse.reason; });
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
    JobBook book;
    if (*c.hosted != '\0') book.begun(join(c.hosted), kFrom);
    CHECK(told(book.decide(c.join, kFrom, c.has_nodes)) == c.expected);
  }
}

TEST_CASE("a replaced job leaves its terms behind") {
  JobBook book;
  book.begun(join("a"), kFrom);
  book.begun(join("a", 5), kFrom);
  CHECK(book.jobs() == 1);
  CHECK(told(book.decide(join("a", 5), kFrom, false)) == "enter");
  CHECK(told(book.decide(join("a"), kFrom, false)) == "replace");
}

TEST_CASE("the name of a job that has ended is free again") {
  JobBook book;
  book.begun(join("a"), kFrom);
  book.ended("a");
  CHECK(book.jobs() == 0);
  CHECK(told(book.decide(join("a"), kFrom, false)) == "begin");
}

TEST_CASE("a full server refuses new jobs, and lets nodes into those it has") {
  JobBook book{{.jobs_max = 3}};
  book.begun(join("1"), kFrom);
  book.begun(join("2"), kFrom);
  CHECK(told(book.decide(join("last"), kFrom, false)) == "begin");
  book.begun(join("last"), kFrom);
  CHECK(book.jobs() == 3);
  CHECK(told(book.decide(join("one more"), kFrom, false)) ==
        "refuse: this server hosts 3 jobs already");
  CHECK(told(book.decide(join("last"), kFrom, true)) == "enter");
  CHECK(told(book.decide(join("last", 5), kFrom, false)) == "replace");
  book.ended("1");
  CHECK(told(book.decide(join("one more"), kFrom, false)) == "begin");
}

TEST_CASE("one address may begin a number of jobs that have not ended") {
  JobBook book{{.jobs_per_address_max = 2}};
  book.begun(join("a"), kFrom);
  book.begun(join("a", 5), kFrom);  // in the place of the first
  CHECK(told(book.decide(join("b"), kFrom, false)) == "begin");
  book.begun(join("b"), kFrom);
  CHECK(told(book.decide(join("c"), kFrom, false)) ==
        "refuse: this server hosts 2 jobs already that were begun from 10.0.0.1");
  CHECK(told(book.decide(join("c"), "10.0.0.2", false)) == "begin");
  CHECK(told(book.decide(join("a", 5), kFrom, false)) == "enter");
  book.ended("a");
  CHECK(told(book.decide(join("c"), kFrom, false)) == "begin");
}

TEST_CASE("a job is abandoned when it has had no nodes for long, and not before") {
  using namespace std::chrono_literals;
  const TimePoint start{1h};
  JobBook book{{.empty_job_kept = 120s}};
  book.begun(join("a"), kFrom);
  CHECK_FALSE(book.abandoned("a", false, start));
  CHECK_FALSE(book.abandoned("a", false, start + 119s));
  CHECK_FALSE(book.abandoned("a", true, start + 120s));  // one came back
  CHECK_FALSE(book.abandoned("a", false, start + 200s));
  CHECK_FALSE(book.abandoned("a", false, start + 319s));
  CHECK(book.abandoned("a", false, start + 320s));
  CHECK_FALSE(book.abandoned("never begun", false, start));
}

}  // namespace
}  // namespace ddprun
