#include "launcher/run/node_fitness.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using State = NodeFitness::State;

TEST_CASE("what the doctor tells the agent comes back as it was") {
  for (const State state : {State::kFit, State::kBusy, State::kUnfit}) {
    const NodeFitness told{state, "12 MiB free in /data", "remove something"};
    CHECK(*parse_fitness(to_lines(told)) == told);
  }
  CHECK(*parse_fitness(to_lines({})) == NodeFitness{});
}

TEST_CASE("what has not answered is not known") {
  const auto read = parse_fitness(to_lines({State::kUnknown, "the driver sleeps", ""}));
  CHECK(read.error().message == "the driver sleeps");
}

TEST_CASE("a name with an end of line in it, or an order to the terminal, stays one line") {
  const auto read = parse_fitness(to_lines({State::kUnfit, "a\nb \x1b[2J", "c"}));
  REQUIRE(read.has_value());
  CHECK(read->seen == "a\\x0ab \\x1b[2J");
}

TEST_CASE("an answer that is none is refused with a sentence") {
  for (const char* const answer : {"", "fit\n", "well\n\n\n", "fit\n\n\n\n", "\n\n\n"})
    CHECK_THAT(parse_fitness(answer).error().message, contains("is not a state"));
}

}  // namespace
}  // namespace ddprun
