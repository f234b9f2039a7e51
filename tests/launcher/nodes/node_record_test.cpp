#include "launcher/nodes/node_record.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

NodeRecord segfault() {
  return {.host = "h2",
          .time_unix_ms = 1'764'230'400'000,
          .kind = FailureKind::kSignal,
          .fingerprint = "ab12cd34",
          .run_id = "job7",
          .sentence = "rank 1 was killed by SIGSEGV (signal 11)"};
}

TEST_CASE("the failure of a node is read as it was written") {
  CHECK(parse_node_record(to_json(segfault())).value() == segfault());
}

TEST_CASE("what is no failure of a node is an error") {
  const std::string whole = to_json(segfault());
  CHECK(parse_node_record("{").error().message == "it is no JSON");
  CHECK_FALSE(parse_node_record("[]").has_value());
  CHECK_THAT(parse_node_record(R"({"schema":"other"})").error().message, contains("schema"));
  CHECK_FALSE(parse_node_record(R"({"schema":"ddprun-node-failure-1"})").has_value());
  NodeRecord nameless = segfault();
  nameless.host.clear();
  CHECK_FALSE(parse_node_record(to_json(nameless)).has_value());
  NodeRecord timeless = segfault();
  timeless.time_unix_ms = -1;
  CHECK_FALSE(parse_node_record(to_json(timeless)).has_value());
  CHECK_FALSE(parse_node_record(std::string(kNodeRecordBytesMax, ' ') + whole).has_value());
}

TEST_CASE("long texts are cut, so that each record can be read again") {
  NodeRecord longest = segfault();
  longest.host = longest.run_id = longest.sentence = longest.fingerprint =
      std::string(100'000, '\x01');
  const std::string text = to_json(longest);
  CHECK(text.size() <= kNodeRecordBytesMax);
  CHECK(parse_node_record(text).has_value());
}

TEST_CASE("the names of files are in the order of their times") {
  CHECK(node_file_name(1'764'230'400'000, 0x1a2b3c4d) ==
        ".node-failure.1764230400000.1a2b3c4d.json");
  CHECK(node_file_name(5, 0) < node_file_name(1'764'230'400'000, 0));
  CHECK(is_node_file(node_file_name(-1, 0)));
  CHECK_FALSE(is_node_file(node_file_name(1, 0) + ".tmp"));
  CHECK_FALSE(is_node_file(".node-failure.json"));
  CHECK_FALSE(is_node_file(".node-failure.1764230400000.1a2b3c4z.json"));
}

}  // namespace
}  // namespace ddprun
