#include "rendezvous/rounds/job_book.hpp"

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
    if (*c.hosted != '\0') book.begun(join(c.hosted));
    CHECK(told(book.decide(c.join, c.has_nodes)) == c.expected);
  }
}

TEST_CASE("a replaced job leaves its terms behind") {
  JobBook book;
  book.begun(join("a"));
  book.begun(join("a", 5));
  CHECK(book.jobs() == 1);
  CHECK(told(book.decide(join("a", 5), false)) == "enter");
  CHECK(told(book.decide(join("a"), false)) == "replace");
}

TEST_CASE("the name of a job that has ended is free again") {
  JobBook book;
  book.begun(join("a"));
  book.ended("a");
  CHECK(book.jobs() == 0);
  CHECK(told(book.decide(join("a"), false)) == "begin");
}

TEST_CASE("a full server refuses new jobs, and lets nodes into those it has") {
  JobBook book;
  for (std::size_t i = 1; i < kJobsMax; ++i) book.begun(join(std::to_string(i)));
  CHECK(told(book.decide(join("last"), false)) == "begin");
  book.begun(join("last"));
  CHECK(book.jobs() == kJobsMax);
  CHECK(told(book.decide(join("one more"), false)) ==
        "refuse: this server hosts 10000 jobs already");
  CHECK(told(book.decide(join("last"), true)) == "enter");
  CHECK(told(book.decide(join("last", 5), false)) == "replace");
  book.ended("1");
  CHECK(told(book.decide(join("one more"), false)) == "begin");
}

}  // namespace
}  // namespace ddprun
