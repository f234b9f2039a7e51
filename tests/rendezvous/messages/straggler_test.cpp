#include "rendezvous/messages/straggler.hpp"

#include "rendezvous/messages/messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

Straggler straggler() {
  return {.ranks = "5",
          .node = "h2",
          .cost_percent = 12.4,
          .late_us = 17'600,
          .step_us = 150'000,
          .lasts_ms = 4'000,
          .why = "its cgroup is throttled",
          .sentence = "rank 5 is late"};
}

TEST_CASE("what is reported of arrivals and stragglers is read as it was written") {
  const Arrivals arrivals{2, 3, 60, {{"0", 7, 200, {50, 0}}}, StrainRates{.cpus = 4, .ran = 0.5}};
  CHECK(decode_agent_message(encode(AgentMessage{arrivals})).value() == AgentMessage{arrivals});
  const Arrivals bare{2, 3, 60, {}};
  CHECK(decode_agent_message(encode(AgentMessage{bare})).value() == AgentMessage{bare});
  for (const CoordinatorMessage& message : {CoordinatorMessage{StragglerFound{2, straggler()}},
                                            CoordinatorMessage{StragglerOver{2, "5"}}})
    CHECK(decode_coordinator_message(encode(message)).value() == message);
}

TEST_CASE("a strain that lacks a figure which every kernel tells is an error") {
  const Arrivals arrivals{2, 3, 60, {}, StrainRates{}};
  std::string line = encode(AgentMessage{arrivals});
  line.replace(line.find("\"cpus\""), 6, "\"cups\"");
  CHECK_THAT(decode_agent_message(line).error().message, contains("'cpus' is missing"));
}

TEST_CASE("a sentence says who makes the others wait, for how long, and why") {
  CHECK(sentence_of(straggler()) ==
        "rank 5 (h2) makes the others wait 12 % of the time: it is 18 ms late in each step of 150 "
        "ms, and its cgroup is throttled");
  CHECK(past_sentence_of(straggler()) ==
        "rank 5 (h2) made the others wait 12 % of the time: its cgroup is throttled");
  Straggler several = straggler();
  several.ranks = "4-7";
  several.why.clear();
  CHECK(sentence_of(several) ==
        "ranks 4-7 (h2) make the others wait 12 % of the time: they are 18 ms late in each step of "
        "150 ms; no cause was found");
}

TEST_CASE("of a rank that slows all without being late, the cost for all is reported") {
  Straggler slow = straggler();
  slow.late_us = 0;
  slow.why = "its network is slow";
  CHECK(sentence_of(slow) ==
        "rank 5 (h2) slows the collectives, which costs all 12 % of the time: its network is "
        "slow");
  CHECK(past_sentence_of(slow) ==
        "rank 5 (h2) slowed the collectives, which costs all 12 % of the time: its network is "
        "slow");
  slow.ranks = "4-7";
  CHECK_THAT(sentence_of(slow), contains("ranks 4-7 (h2) slow the collectives"));
}

}  // namespace
}  // namespace ddprun
