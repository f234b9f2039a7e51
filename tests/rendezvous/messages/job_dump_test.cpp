#include "rendezvous/messages/job_dump.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a dump comes back from its JSON as it was") {
  const JobDump dump{.state = "running",
                     .why = "",
                     .round = 2,
                     .attempt = 1,
                     .world_size = 4,
                     .nodes = 2,
                     .took_ms = 31,
                     .hang = HangReport{.sentence = "rank 1 has not come", .missing_ranks = "1"},
                     .waits = {{"gloo:all_reduce", "0 (default_pg)", 13, "0,2-3", "1"}},
                     .stacks = {{.ranks = "1", .doing = "sleeps", .stack = "f\tx.py\t3\n"}},
                     .stacks_left_out = 0,
                     .unheard = {{"h2", "3", "has not answered in time"}}};
  CHECK(parse_job_dump(to_json(dump)).value() == dump);
}

TEST_CASE("of too many stacks the last ones are left out, and counted") {
  JobDump dump{.state = "running"};
  const std::size_t many = kDumpBytesMax / 5000;
  for (std::size_t i = 0; i < many; ++i)
    dump.stacks.push_back({.ranks = std::to_string(i), .stack = std::string(2900, '\x01')});
  const std::string text = to_json(dump);
  CHECK(text.size() <= kDumpBytesMax);
  const JobDump back = parse_job_dump(text).value();
  CHECK(back.stacks.size() + static_cast<std::size_t>(back.stacks_left_out) == many);
  REQUIRE_FALSE(back.stacks.empty());
  CHECK(back.stacks[0].ranks == "0");
}

TEST_CASE("what is no dump is an error with a sentence") {
  CHECK_THAT(parse_job_dump("{").error().message, contains("malformed dump"));
  CHECK_THAT(parse_job_dump(R"({"round":1})").error().message, contains("'state' is missing"));
  CHECK_THAT(parse_job_dump(std::string(kDumpBytesMax + 1, ' ')).error().message,
             contains("too long"));
}

}  // namespace
}  // namespace ddprun
