#include "live/jobs/job_facts.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("facts are read as they were written") {
  const JobFacts facts{.run_id = "r\n\"1",
                       .title = "train.py",
                       .host = "h1",
                       .pid = 42,
                       .started_unix_ms = 7,
                       .workers = 8,
                       .run_directory = "/logs/r_x",
                       .coordinator = "h1:29400",
                       .coordinator_here = true,
                       .status_url = "http://h1:1/?token=t"};
  const auto read = parse_job_facts(to_json(facts));
  REQUIRE(read.has_value());
  CHECK(*read == facts);
}

TEST_CASE("facts that make no sense are an error, and those that are missing are empty") {
  CHECK(parse_job_facts("{}").has_value());
  for (const char* text : {"", "[]", "7", R"({"pid":"x"})", R"({"run_id":{}})", R"({"pid":1e99})",
                           R"({"workers":1.5})"})
    CHECK(parse_job_facts(text).has_error());
}

}  // namespace
}  // namespace ddprun
