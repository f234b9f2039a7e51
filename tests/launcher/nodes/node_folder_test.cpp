#include "launcher/nodes/node_folder.hpp"

#include <sys/stat.h>

#include <fstream>

#include "rendezvous/messages/job_terms.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

NodeRecord failure_on(const std::string& host, std::int64_t time_unix_ms = 1'000) {
  return {.host = host, .time_unix_ms = time_unix_ms, .sentence = "rank 1 failed"};
}

TEST_CASE("failures are read in their order, whatever order they were kept in") {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / "not" / "there";
  CHECK(read_node_records(folder).value().records.empty());
  REQUIRE(add_node_record(folder, failure_on("b", 2'000)).has_value());
  REQUIRE(add_node_record(folder, failure_on("a", 1'000)).has_value());
  CHECK(read_node_records(folder).value().records ==
        std::vector{failure_on("a", 1'000), failure_on("b", 2'000)});
}

TEST_CASE("two failures at the same time are two files") {
  const ScratchFolder folder;
  for (int i = 0; i < 20; ++i) REQUIRE(add_node_record(folder.path(), failure_on("a")).has_value());
  CHECK(read_node_records(folder.path()).value().records.size() == 20);
}

TEST_CASE("a node that is forgiven has no failures, and others keep theirs") {
  const ScratchFolder folder;
  for (const char* const host : {"a", "b", "a"})
    REQUIRE(add_node_record(folder.path(), failure_on(host)).has_value());
  CHECK(forgive_node(folder.path(), "a").value() == 2);
  CHECK(forgive_node(folder.path(), "a").value() == 0);
  CHECK(read_node_records(folder.path()).value().records == std::vector{failure_on("b")});
}

TEST_CASE("a folder keeps the last failures, and leaves other files alone") {
  const ScratchFolder folder;
  std::ofstream{folder.path() / "notes.txt"} << "mine";
  for (int i = 0; i < kNodeFailuresMax; ++i)
    std::ofstream{folder.path() / node_file_name(i, 0)} << to_json(failure_on("old", i));
  REQUIRE(add_node_record(folder.path(), failure_on("new", 1'000'000)).has_value());
  const auto found = read_node_records(folder.path()).value();
  CHECK(found.records.size() == kNodeFailuresMax);
  CHECK(found.records.front() == failure_on("old", 1));
  CHECK(found.records.back() == failure_on("new", 1'000'000));
  CHECK(fs::exists(folder.path() / "notes.txt"));
}

TEST_CASE("a record that cannot be read is reported, and the others are read") {
  const ScratchFolder folder;
  REQUIRE(add_node_record(folder.path(), failure_on("a")).has_value());
  std::ofstream{folder.path() / node_file_name(5, 5)} << "{";
  const auto found = read_node_records(folder.path()).value();
  CHECK(found.records == std::vector{failure_on("a")});
  REQUIRE(found.unread.size() == 1);
  CHECK_THAT(found.unread.front(), contains("it is no JSON"));
}

TEST_CASE("a record is read once, as long as it is there") {
  const ScratchFolder folder;
  REQUIRE(add_node_record(folder.path(), failure_on("a", 1'000)).has_value());
  const NodeRecords before = read_node_records(folder.path()).value();
  std::ofstream{folder.path() / before.names.front()} << "changed by nobody of ours";
  REQUIRE(add_node_record(folder.path(), failure_on("b", 2'000)).has_value());
  const NodeRecords after = read_node_records(folder.path(), before).value();
  CHECK(after.records == std::vector{failure_on("a", 1'000), failure_on("b", 2'000)});
  CHECK(after.unread.empty());
  REQUIRE(fs::remove(folder.path() / before.names.front()));
  CHECK(read_node_records(folder.path(), after).value().records ==
        std::vector{failure_on("b", 2'000)});
}

TEST_CASE("nobody waits for a pipe that has the name of a record") {
  const ScratchFolder folder;
  REQUIRE(mkfifo((folder.path() / node_file_name(5, 5)).c_str(), S_IRUSR) == 0);
  const auto found = read_node_records(folder.path()).value();
  CHECK(found.records.empty());
  REQUIRE(found.unread.size() == 1);
  CHECK_THAT(found.unread.front(), contains("it is no regular file"));
}

TEST_CASE("what is no folder is an error that names it") {
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "file";
  std::ofstream{file} << "mine";
  CHECK_THAT(read_node_records(file).error().message, contains(file.string()));
  CHECK_THAT(add_node_record(file, failure_on("a")).error().message, contains(file.string()));
  CHECK_THAT(forgive_node(file, "a").error().message, contains(file.string()));
}

}  // namespace
}  // namespace ddprun
