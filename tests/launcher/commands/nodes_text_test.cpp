#include "launcher/commands/nodes_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr std::int64_t kNow = 1'764'230'400'000;
constexpr NodePolicy kTwoInAnHour{.strikes = 2, .window_ms = 3'600'000};

NodeRecord node_failure(const std::string& host, std::int64_t age_s,
                        const std::string& fingerprint = "") {
  return {.host = host,
          .time_unix_ms = kNow - age_s * 1000,
          .fingerprint = fingerprint,
          .sentence = "rank 1 failed"};
}

TEST_CASE("the nodes with the most strikes come first, and those that are left out are named") {
  const std::vector records{node_failure("h1", 7200), node_failure("h2", 120),
                            node_failure("h2", 60), node_failure("h3", 30)};
  const auto lines = lines_of_nodes(records, kTwoInAnHour, kNow);
  CHECK(nodes_text(lines, kTwoInAnHour, "/shared", kNow) ==
        "NODE  FAILURES  STRIKES  LAST           WHAT IT WAS\n"
        "h2           2        2  60 s ago       rank 1 failed\n"
        "h3           1        1  30 s ago       rank 1 failed\n"
        "h1           1        0  2 h 0 min ago  rank 1 failed\n"
        "\n"
        "With 2 strikes within 1h a node takes part only while others are too few: h2.\n"
        "Once it is mended: ddprun nodes /shared --forgive NODE\n");
}

TEST_CASE("without excluded nodes the text says nothing of them") {
  const std::vector records{node_failure("h1", 10)};
  const auto lines = lines_of_nodes(records, kTwoInAnHour, kNow);
  CHECK_THAT(nodes_text(lines, kTwoInAnHour, "/shared", kNow), !contains("strikes within"));
  CHECK(nodes_text({}, kTwoInAnHour, "/shared", kNow) ==
        "no node has caused a failure, says '/shared'\n");
}

TEST_CASE("a program's own failures are shown, and are no strikes") {
  const std::vector records{node_failure("h1", 10, "bug"), node_failure("h2", 10, "bug")};
  const auto lines = lines_of_nodes(records, kTwoInAnHour, kNow);
  CHECK(lines.front().failures == 1);
  CHECK(lines.front().strikes == 0);
}

TEST_CASE("texts of others cannot speak to the terminal") {
  const std::vector records{node_failure("\x1b[2J", 10), node_failure("\x1b[2J", 9)};
  const auto lines = lines_of_nodes(records, kTwoInAnHour, kNow);
  CHECK_THAT(nodes_text(lines, kTwoInAnHour, "/shared", kNow), !contains("\x1b"));
}

TEST_CASE("programs get the same") {
  const std::vector records{node_failure("h2", 2), node_failure("h2", 1)};
  const auto lines = lines_of_nodes(records, kTwoInAnHour, kNow);
  CHECK_THAT(nodes_json(lines, kTwoInAnHour),
             contains(R"("failures":2,"host":"h2")") && contains(R"("left_out":true,"strikes":2)"));
}

}  // namespace
}  // namespace ddprun
